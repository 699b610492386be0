/** Lines and records of a run, as far as they can be read: what cannot be is named in `gaps`, and left out. */
import { basename } from 'node:path';
import type { z } from 'zod';
import { InvalidArtifact, StoreUnavailable, undefinedIfMissing } from '../store/errors.ts';
import { problemOf } from '../store/json-files.ts';
import type { ObjectStore } from '../store/object-store.ts';
import { MAX_LINES_BYTES, readPlainFile } from '../store/plain-files.ts';
import type { FileRef } from '../store/references.ts';
import { isObject } from '../validation/json-schema.ts';

/** What was read, or the fallback if it is damaged. */
export async function unlessDamaged<T>(read: Promise<T>, fallback: T, gaps: string[]): Promise<T> {
  try {
    return await read;
  } catch (error) {
    if (!(error instanceof InvalidArtifact)) throw error;
    gaps.push(error.message);
    return fallback;
  }
}

/**
 * The lines of a file that are whole, and are what the schema says. Only the last can be torn by a kill; a bad
 * one elsewhere is named too. A metric that is no number is left out of its line.
 */
export async function readLines<Schema extends z.ZodType>(
  path: string,
  schema: Schema,
  gaps: string[],
): Promise<{ value: z.infer<Schema>; line: string }[]> {
  const data = await unlessDamaged(
    undefinedIfMissing(readPlainFile(path, MAX_LINES_BYTES)),
    Buffer.alloc(0),
    gaps,
  );
  const name = basename(path);
  if (data === undefined) {
    gaps.push(`${name} is missing.`);
    return [];
  }
  const lines = data
    .toString('utf8')
    .split('\n')
    .filter((line) => line !== '');
  return lines.flatMap((line, index) => {
    try {
      const where = `${name}: line ${index + 1}`;
      const value = withoutWrongNumbers(JSON.parse(line), where, gaps);
      const problem = problemOf(value, schema);
      if (problem === undefined) return [{ value: schema.parse(value), line }];
      gaps.push(`${where} is not what this file holds (${problem}), and left out.`);
      return [];
    } catch {
      gaps.push(
        `${name}: line ${index + 1} is ` +
          `${index === lines.length - 1 ? 'torn (the process that wrote it was killed)' : 'not valid JSON'}, ` +
          'and left out.',
      );
      return [];
    }
  });
}

/** Metrics that have to be rates, since what is computed from them is. */
const rates = new Set(['env/success_rate', 'eval/heldout']);

/** A line without those metrics and times that are no numbers. */
function withoutWrongNumbers(line: unknown, where: string, gaps: string[]): unknown {
  if (!isObject(line)) return line;
  const cleaned = (field: 'metrics' | 'time'): unknown => {
    const values = line[field];
    if (!isObject(values)) return values;
    const isRight = ([name, value]: [string, unknown]): boolean =>
      (value === null && field === 'metrics') ||
      (typeof value === 'number' && (!rates.has(name) || (value >= 0 && value <= 1)));
    const entries = Object.entries(values);
    const right = entries.filter(isRight);
    if (right.length < entries.length)
      gaps.push(`${where}: ${entries.length - right.length} of its ${field} are no numbers, and left out.`);
    return Object.fromEntries(right);
  };
  return {
    ...line,
    ...('metrics' in line && { metrics: cleaned('metrics') }),
    ...('time' in line && { time: cleaned('time') }),
  };
}

/**
 * The records of some files that `keep` selects. If a file is pruned, missing or damaged, the result is null
 * and `gaps` says so; if the store is away, too, unless the caller awaits it.
 * @throws StoreUnavailable if `awaitsStore`
 */
export async function readRecords<T>(
  store: ObjectStore,
  refs: readonly FileRef[],
  {
    what,
    gaps,
    keep = () => true,
    awaitsStore = false,
  }: { what: string; gaps: string[]; keep?: (record: T) => boolean; awaitsStore?: boolean },
): Promise<T[] | null> {
  const kept: T[] = [];
  try {
    for (const ref of refs)
      for await (const record of store.records<T>(ref)) if (keep(record)) kept.push(record);
    return kept;
  } catch (error) {
    if (!(error instanceof InvalidArtifact || error instanceof StoreUnavailable)) throw error;
    if (awaitsStore && error instanceof StoreUnavailable) throw error;
    gaps.push(
      `${what}: ${error instanceof InvalidArtifact ? error.problem.replace(/ \(expected.*\)$/s, '') : error.message}.`,
    );
    return null;
  }
}
