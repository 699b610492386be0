import { stat } from 'node:fs/promises';
import { sharedPlace } from '../store/shared-folders.ts';

/** How long what Temporal said, and a list of folders on a disk, are taken as true. */
export const LIVE_MS = 1_000;
/** How often files and folders are looked for in a bucket: each time takes some requests. */
export const REFRESH_MS = 10_000;

/** Changes when one of some files is written, made or removed. */
export async function fileStamp(files: readonly string[]): Promise<string> {
  const stats = await Promise.all(files.map((file) => stat(file).catch(() => null)));
  return stats.map((entry) => (entry === null ? '-' : `${entry.size}.${entry.mtimeMs}`)).join(' ');
}

/** A stamp that changes every `ms` milliseconds. */
export const momentStamp = (ms: number): string => String(Math.floor(Date.now() / ms));

/** A stamp that changes whenever a list of the folders below a root must be read again. */
export const listStamp = (root: string): string =>
  momentStamp(sharedPlace(root) === undefined ? LIVE_MS : REFRESH_MS);
