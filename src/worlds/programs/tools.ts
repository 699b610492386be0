import { arithmeticTools } from './tools/arithmetic.ts';
import { databaseTools } from './tools/database.ts';
import { datesTools } from './tools/dates.ts';
import { listsTools } from './tools/lists.ts';
import { textTools } from './tools/text.ts';
import type { ToolRow, ToolTable } from './tools/tool.ts';

export const families = ['arithmetic', 'text', 'dates', 'lists', 'database'] as const;
export type Family = (typeof families)[number];

export interface Tool extends ToolRow {
  name: string;
  family: Family;
}

const tables: Record<Family, ToolTable> = {
  arithmetic: arithmeticTools,
  text: textTools,
  dates: datesTools,
  lists: listsTools,
  database: databaseTools,
};

/** All tools by name. A map, so that no name is inherited. */
export const tools: ReadonlyMap<string, Tool> = new Map(
  families.flatMap((family) =>
    Object.entries(tables[family]).map(([name, row]): [string, Tool] => [name, { name, family, ...row }]),
  ),
);

export const allTools: readonly Tool[] = [...tools.values()];
/** Those that training has. */
export const usualTools: readonly Tool[] = allTools.filter((tool) => tool.isReserved !== true);
