import { lstat, readdir } from 'node:fs/promises';
import { resolve } from 'node:path';
import { undefinedIfMissing } from '../store/errors.ts';
import { sharedPlace } from '../store/shared-folders.ts';

/** Names that a folder of results may have: those of runs and evaluations. */
const FOLDER_NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/;

/**
 * Names of the folders of results of a kind, such as those in `evaluations/`, sorted; a link in the place of a folder
 * is none.
 */
export async function listResults(root: string): Promise<string[]> {
  const place = sharedPlace(root);
  if (place !== undefined)
    return (await place.bucket.folders(`${place.key}/`)).filter((name) => FOLDER_NAME.test(name)).sort();
  const entries = (await undefinedIfMissing(readdir(resolve(root), { withFileTypes: true }))) ?? [];
  return entries
    .filter((entry) => entry.isDirectory() && FOLDER_NAME.test(entry.name))
    .map(({ name }) => name)
    .sort();
}

/** When the first of some files that exists was last written, ISO 8601 in UTC; null if none does. */
export async function timeOfFirst(files: readonly string[]): Promise<string | null> {
  for (const file of files) {
    const stats = await undefinedIfMissing(lstat(file));
    if (stats !== undefined) return stats.mtime.toISOString();
  }
  return null;
}
