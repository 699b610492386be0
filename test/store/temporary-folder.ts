import { existsSync } from 'node:fs';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { Journal } from '../../src/store/journal.ts';

/** A new folder, removed when the test is over. */
export async function temporaryFolder(parent = tmpdir()): Promise<string> {
  const folder = await mkdtemp(join(parent, 'genenv-store-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

/**
 * The same in memory where the system has it: for tests that write hundreds of small files, each synchronised
 * to disk.
 */
export const memoryFolder = (): Promise<string> =>
  temporaryFolder(existsSync('/dev/shm') ? '/dev/shm' : tmpdir());

/** Relative paths of all files below a folder, sorted. */
export async function filesIn(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1))
    .sort();
}

export const leftovers = async (folder: string): Promise<string[]> =>
  (await filesIn(folder)).filter((name) => name.includes('.tmp'));

/** A generator over a list, for what takes async iterables. */
export async function* eventually<T>(values: Iterable<T>): AsyncGenerator<T> {
  for (const value of values) yield await Promise.resolve(value);
}

export async function collect<T>(values: AsyncIterable<T>): Promise<T[]> {
  const collected: T[] = [];
  for await (const value of values) collected.push(value);
  return collected;
}

export async function entriesOf(path: string): Promise<unknown[]> {
  const journal = await Journal.open<unknown>(path);
  await journal.close();
  return journal.entries;
}
