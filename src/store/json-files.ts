import type { FileHandle } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { z } from 'zod';
import { plainText } from '../formats/plain-text.ts';
import { makeFolder } from './atomic-write.ts';
import { InvalidArtifact, undefinedIfMissing, withDiskErrors } from './errors.ts';
import { linesOf } from './object-integrity.ts';
import { MAX_LINES_BYTES, openToAppend, readPlainFile } from './plain-files.ts';

/**
 * The JSON of a file that a person may have edited; undefined if there is no such file.
 * @param schema what the file has to be; the value is returned as it stands in the file
 * @param remedy what to do if it is not that
 * @throws InvalidArtifact if it is no file, not JSON, or not what the schema says
 * @throws StoreUnavailable
 */
export async function readJsonFile<T>(
  file: string,
  remedy: string,
  schema?: z.ZodType,
): Promise<T | undefined> {
  const text = await withDiskErrors(file, () => undefinedIfMissing(readPlainFile(file)));
  if (text === undefined) return undefined;
  let value: unknown;
  try {
    value = JSON.parse(text.toString('utf8'));
  } catch {
    throw new InvalidArtifact(file, 'not JSON', {}, remedy);
  }
  const problem = schema && problemOf(value, schema);
  if (problem !== undefined) throw new InvalidArtifact(file, problem, {}, remedy);
  return value as T;
}

const maxProblemCharacters = 300;

/** What a schema says is wrong with a value, by field and short; undefined if nothing is. */
export function problemOf(value: unknown, schema: z.ZodType): string | undefined {
  const { error } = schema.safeParse(value);
  if (error === undefined) return undefined;
  const problems = error.issues.slice(0, 3).map(({ path, message }) => `${path.join('.')}: ${message}`);
  return plainText(problems.join('; '), maxProblemCharacters);
}

/** Adds a line durably, making the folder if it does not exist. @throws StoreUnavailable */
export async function appendJsonLine(file: string, line: object): Promise<void> {
  await makeFolder(dirname(file));
  await withDiskErrors(file, async () => {
    const handle = await openToAppend(file);
    try {
      await writeLine(handle, JSON.stringify(line));
    } finally {
      await handle.close();
    }
  });
}

/**
 * The readable lines of a file; none if there is no file. Torn lines, and lines that are not what the schema
 * says, are skipped. @throws StoreUnavailable
 */
export async function readJsonLines<T>(file: string, schema: z.ZodType<T>): Promise<T[]> {
  const read = () => undefinedIfMissing(readPlainFile(file, MAX_LINES_BYTES));
  const data = (await withDiskErrors(file, read)) ?? Buffer.alloc(0);
  return parseLines<T>(data).filter((line) => schema.safeParse(line).success);
}

/** The JSON of a text; null if it is none. */
export function parseOrNull(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/** The lines of a text that parse as JSON. */
export function parseLines<T>(data: Buffer): T[] {
  return [...linesOf(data)].flatMap((line) => {
    try {
      return [JSON.parse(line) as T];
    } catch {
      return [];
    }
  });
}

/** Adds a line durably to a file that is open for reading and appending. */
export async function writeLine(handle: FileHandle, line: string): Promise<void> {
  const { size } = await handle.stat();
  const last = Buffer.alloc(1, '\n');
  if (size > 0) await handle.read(last, 0, 1, size - 1);
  // After a torn line, a new one starts: only the torn one is lost.
  await handle.appendFile(`${last.toString() === '\n' ? '' : '\n'}${line}\n`);
  await handle.sync();
}
