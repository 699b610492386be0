/**
 * Folders whose files are kept in a bucket, so that several hosts have them: what is on this disk is a working
 * copy with the same paths. The composition roots say which, once; below no such folder, files are all there is.
 */
import { relative, resolve, sep } from 'node:path';
import type { Bucket } from './bucket.ts';

/** The bucket of a file, and its key there; of a folder, its key has no slash at the end. */
export type SharedPlace = { bucket: Bucket; key: string };

/** Set by the operator, so there are few of them. */
const shared = new Map<string, SharedPlace>();

/** From now on the files below this folder are kept in a bucket, below `key`. */
export function shareFolder(folder: string, bucket: Bucket, key: string): void {
  shared.set(resolve(folder), { bucket, key });
}

/** The place of a file or folder in a bucket; undefined if its disk is all there is. */
export function sharedPlace(path: string): SharedPlace | undefined {
  const absolute = resolve(path);
  for (const [folder, { bucket, key }] of shared)
    if (absolute === folder || absolute.startsWith(`${folder}${sep}`))
      return { bucket, key: [key, ...relative(folder, absolute).split(sep)].filter(Boolean).join('/') };
  return undefined;
}
