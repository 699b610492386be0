import type { Table } from './task-schema.ts';

export type ToolValue = number | string;
export type ValueType = 'integer' | 'text' | 'date';

/** A pure function that programs may call. Its arguments were checked against `parameters`. */
export interface LibraryTool {
  /** Family of the tasks whose outermost call it is. */
  group: 'calculator' | 'text' | 'dates' | 'table';
  description: string;
  parameters: Record<string, ValueType>;
  /** Type of the result; a table's cells may be either. */
  result: ValueType | 'cell';
  run(args: Record<string, ToolValue>, table: Table | undefined): ToolValue;
}

export const MAX_ARGUMENT = 1e9;
const MAX_RESULT = 1e12;
export const MAX_TEXT_LENGTH = 200;

const integers = { a: 'integer', b: 'integer' } as const;
const number = (value: ToolValue | undefined): number => value as number;
const text = (value: ToolValue | undefined): string => value as string;

/** All that a program can call. A map, so that no name is inherited. */
export const library: ReadonlyMap<string, LibraryTool> = new Map<string, LibraryTool>(
  Object.entries({
    add: {
      group: 'calculator',
      description: 'a + b',
      parameters: integers,
      result: 'integer',
      run: ({ a, b }) => number(a) + number(b),
    },
    subtract: {
      group: 'calculator',
      description: 'a - b',
      parameters: integers,
      result: 'integer',
      run: ({ a, b }) => number(a) - number(b),
    },
    multiply: {
      group: 'calculator',
      description: 'a times b',
      parameters: integers,
      result: 'integer',
      run: ({ a, b }) => number(a) * number(b),
    },
    reverse: {
      group: 'text',
      description: 'the text backwards',
      parameters: { text: 'text' },
      result: 'text',
      run: (args) => Array.from(text(args.text)).reverse().join(''),
    },
    count: {
      group: 'text',
      description: 'how often part occurs in the text, without overlaps',
      parameters: { text: 'text', part: 'text' },
      result: 'integer',
      run: (args) => countOccurrences(text(args.text), text(args.part)),
    },
    replace: {
      group: 'text',
      description: 'the text with every occurrence of part replaced',
      parameters: { text: 'text', part: 'text', by: 'text' },
      result: 'text',
      run: (args) => replaceOccurrences(text(args.text), text(args.part), text(args.by)),
    },
    add_days: {
      group: 'dates',
      description: 'the date so many days later',
      parameters: { date: 'date', days: 'integer' },
      result: 'date',
      run: ({ date, days }) => addDays(text(date), number(days)),
    },
    days_between: {
      group: 'dates',
      description: 'days from one date to the other',
      parameters: { from: 'date', to: 'date' },
      result: 'integer',
      run: ({ from, to }) => daysBetween(text(from), text(to)),
    },
    weekday: {
      group: 'dates',
      description: 'the English name of the day of the week',
      parameters: { date: 'date' },
      result: 'text',
      run: ({ date }) => weekday(text(date)),
    },
    lookup: {
      group: 'table',
      description: 'the cell of a column, in the row whose first cell is key',
      parameters: { key: 'text', column: 'text' },
      result: 'cell',
      run: ({ key, column }, table) => lookUpCell(text(key), text(column), table),
    },
  } satisfies Record<string, LibraryTool>),
);

/**
 * Whether a value may be given for a parameter: whole numbers up to 10^9, texts up to 200 characters, dates
 * from 1900 to 2100.
 */
export function fitsType(value: ToolValue, type: ValueType): boolean {
  if (type === 'integer') return Number.isSafeInteger(value) && Math.abs(number(value)) <= MAX_ARGUMENT;
  return typeof value === 'string' && value.length <= MAX_TEXT_LENGTH && (type === 'text' || isDate(value));
}

/** Whether a result may stand: whole numbers up to 10^12, texts up to 200 characters. */
export const isSmall = (value: ToolValue): boolean =>
  typeof value === 'number'
    ? Number.isSafeInteger(value) && Math.abs(value) <= MAX_RESULT
    : value.length <= MAX_TEXT_LENGTH;

function countOccurrences(source: string, part: string): number {
  if (part === '') throw new ExecutionFault('wrong_arguments');
  return source.split(part).length - 1;
}

function replaceOccurrences(source: string, part: string, by: string): string {
  if (part === '') throw new ExecutionFault('wrong_arguments');
  // At most 200 times 200 characters; the caller rejects results that are too long.
  return source.split(part).join(by);
}

function lookUpCell(key: string, column: string, table: Table | undefined): ToolValue {
  const at = table?.columns.indexOf(column) ?? -1;
  const rows = table?.rows.filter(([first]) => String(first) === key) ?? [];
  // Two rows of one key would be two answers.
  const value = rows.length === 1 ? rows[0]![at] : undefined;
  if (value === undefined) throw new ExecutionFault('no_answer');
  return value;
}

const DAY_MS = 86_400_000;
const [MIN_TIME, MAX_TIME] = [Date.UTC(1900, 0, 1), Date.UTC(2100, 11, 31)];
export const weekdays = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday'];

const timeOf = (date: string): number => Date.parse(`${date}T00:00:00Z`);

function dateOf(time: number): string {
  if (!(time >= MIN_TIME && time <= MAX_TIME)) throw new ExecutionFault('too_large');
  return new Date(time).toISOString().slice(0, 10);
}

/** A day of the Gregorian calendar from 1900 to 2100, as `2026-02-28`. */
export function isDate(text: string): boolean {
  if (!/^\d{4}-\d\d-\d\d$/.test(text)) return false;
  const time = timeOf(text);
  // Some engines take 30 February for 2 March.
  return time >= MIN_TIME && time <= MAX_TIME && dateOf(time) === text;
}

/** @throws ExecutionFault outside 1900 to 2100 */
export const addDays = (date: string, days: number): string => dateOf(timeOf(date) + days * DAY_MS);

/** Days from one date to another, negative where that is earlier. */
export const daysBetween = (from: string, to: string): number => (timeOf(to) - timeOf(from)) / DAY_MS;

export const weekday = (date: string): string => weekdays[new Date(timeOf(date)).getUTCDay()]!;
/** A program has no value; `reason` says why, as a word in the metrics. */
export class ExecutionFault extends Error {
  override readonly name = 'ExecutionFault';
  readonly reason:
    'unknown_tool' | 'wrong_arguments' | 'too_deep' | 'too_many_calls' | 'too_large' | 'no_answer';
  constructor(reason: ExecutionFault['reason']) {
    super(reason);
    this.reason = reason;
  }
}
