import type { FileHandle } from 'node:fs/promises';
import { dirname } from 'node:path';
import { makeFolder } from './atomic-write.ts';
import { InvalidArtifact, undefinedIfMissing, withDiskErrors } from './errors.ts';
import { linesOf } from './object-integrity.ts';
import { openToAppend, readPlainFile } from './plain-files.ts';

/**
 * The JSON of a file that a person may have edited; undefined if there is no such file.
 * @param remedy what to do if it is not JSON
 * @throws InvalidArtifact if it is no file, or not JSON
 * @throws StoreUnavailable
 */
export async function readJsonFile<T>(file: string, remedy: string): Promise<T | undefined> {
  const text = await withDiskErrors(file, () => undefinedIfMissing(readPlainFile(file)));
  if (text === undefined) return undefined;
  try {
    return JSON.parse(text.toString('utf8')) as T;
  } catch {
    throw new InvalidArtifact(file, 'not JSON', {}, remedy);
  }
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
 * The readable lines of a file; none if there is no file. Torn lines are skipped. @throws StoreUnavailable
 */
export async function readJsonLines<T>(file: string): Promise<T[]> {
  const data = (await withDiskErrors(file, () => undefinedIfMissing(readPlainFile(file)))) ?? Buffer.alloc(0);
  return parseLines<T>(data);
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
