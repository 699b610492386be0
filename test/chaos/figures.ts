import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { repository } from '../../infra/setup/locations.mjs';
import { markdown } from './table.ts';
import type { Results } from './table.ts';

const docs = join(repository, 'docs', 'durability.md');
const [begin, end] = ['<!-- chaos: bench/chaos.json -->', '<!-- /chaos -->'];

/** The document with the table of these results between its markers. @throws Error if it lacks them */
export function withTable(document: string, results: Results): string {
  const [from, to] = [document.indexOf(begin), document.indexOf(end)];
  if (from === -1 || to < from)
    throw new Error(
      `docs/durability.md: the markers ${begin} and ${end} are missing; restore them around the table`,
    );
  return `${document.slice(0, from + begin.length)}\n${markdown(results)}\n${document.slice(to)}`;
}

export function writeDocs(results: Results): void {
  writeFileSync(docs, withTable(readFileSync(docs, 'utf8'), results));
}
