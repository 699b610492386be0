/** The walks of `scan.ts` over a store that is in a bucket: the same paths, from lists of keys. */
import { join } from 'node:path';
import { sum } from '../numerics/arithmetic.ts';
import { sharedPlace } from './shared-folders.ts';

/** Something in a store: absolute path, size with all below it, and when it was last written. */
export type StoredFile = { path: string; bytes: number; mtimeMs: number };

/** Size and age of what the bucket has at a path: a file, or all below it; undefined if nothing. */
export async function measureShared(path: string): Promise<StoredFile | undefined> {
  const { bucket, key } = sharedPlace(path)!;
  const entries = (await bucket.list(key)).filter(
    (entry) => entry.key === key || entry.key.startsWith(`${key}/`),
  );
  if (entries.length === 0) return undefined;
  return {
    path,
    bytes: sum(entries.map(({ bytes }) => bytes)),
    mtimeMs: Math.max(...entries.map(({ modifiedMs }) => modifiedMs)),
  };
}

/** Names directly below a folder, of files and folders, sorted. */
export async function namesBelow(folder: string): Promise<string[]> {
  const { bucket, key } = sharedPlace(folder)!;
  const names = (await bucket.list(`${key}/`)).map((entry) => entry.key.slice(key.length + 1).split('/')[0]!);
  return [...new Set(names)].sort();
}

/** Paths of all files below a folder, sorted. */
export async function filesBelow(folder: string): Promise<string[]> {
  const { bucket, key } = sharedPlace(folder)!;
  return (await bucket.list(`${key}/`)).map((entry) => join(folder, entry.key.slice(key.length + 1)));
}
