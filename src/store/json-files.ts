import { open, readFile } from 'node:fs/promises';
import type { FileHandle } from 'node:fs/promises';
import { dirname } from 'node:path';
import { makeFolder } from './atomic-write.ts';
import { InvalidArtifact, undefinedIfMissing, withDiskErrors } from './errors.ts';
import { linesOf } from './object-integrity.ts';

/**
 * The JSON of a file that a person may have edited; undefined if there is no such file. `remedy`: what to do
 * where it is no JSON.
 * @throws InvalidArtifact if it is no JSON
 * @throws StoreUnavailable
 */
export async function readJsonFile<T>(file: string, remedy: string): Promise<T | undefined> {
  const text = await withDiskErrors(file, () => undefinedIfMissing(readFile(file, 'utf8')));
  if (text === undefined) return undefined;
  try {
    return JSON.parse(text) as T;
  } catch (error) {
    throw new InvalidArtifact(file, `not JSON: ${String(error)}`, {}, remedy);
  }
}

/** Adds a line, durably; the folder is made where it is not there. @throws StoreUnavailable */
export async function appendJsonLine(file: string, line: object): Promise<void> {
  await makeFolder(dirname(file));
  await withDiskErrors(file, async () => {
    const handle = await open(file, 'a+');
    try {
      await writeLine(handle, JSON.stringify(line));
    } finally {
      await handle.close();
    }
  });
}

/**
 * What can be read of a file of lines, none where there is no file; torn lines are passed over. @throws
 * StoreUnavailable
 */
export async function readJsonLines<T>(file: string): Promise<T[]> {
  const data = (await withDiskErrors(file, () => undefinedIfMissing(readFile(file)))) ?? Buffer.alloc(0);
  return parseLines<T>(data);
}

/** The lines of a text that are whole. */
export function parseLines<T>(data: Buffer): T[] {
  return [...linesOf(data)].flatMap((line) => {
    try {
      return [JSON.parse(line) as T];
    } catch {
      return [];
    }
  });
}

/** Adds a line to a file that is open for reading and appending, durably. */
export async function writeLine(handle: FileHandle, line: string): Promise<void> {
  const { size } = await handle.stat();
  const last = Buffer.alloc(1, '\n');
  if (size > 0) await handle.read(last, 0, 1, size - 1);
  // After a torn line, a new one starts: only the torn one is lost.
  await handle.appendFile(`${last.toString() === '\n' ? '' : '\n'}${line}\n`);
  await handle.sync();
}
