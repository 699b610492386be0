/** Copies of a bucket's objects on this disk, read while others of this process may repair them. */
import type { OnTransferred } from './bucket-transfers.ts';
import { errorCode, InvalidArtifact } from './errors.ts';
import type { OnDamage } from './errors.ts';
import { objectPath } from './object-paths.ts';
import { PathMutexes } from './path-mutexes.ts';
import type { Ref } from './references.ts';
import { sharedPlace } from './shared-folders.ts';
import { discardCopy, discardObject, fetchObject } from './shared-objects.ts';

interface ReadOptions {
  onDamage: OnDamage;
  onTransferred: OnTransferred;
}

const repairMutexes = new PathMutexes();
/** Another process may remove a copy too, so one damaged read does not prove that the bucket's object is damaged. */
const MAX_FETCHES = 2;

/**
 * Reads an object; a copy of a shared one that is damaged is fetched again, and an object that is damaged in its
 * bucket is removed there, so that whoever makes it again is not told that it is there.
 * @throws InvalidArtifact, StoreUnavailable
 */
export async function readObject<T>(
  root: string,
  ref: Ref,
  read: () => Promise<T>,
  options: ReadOptions,
): Promise<T> {
  const path = objectPath(root, ref);
  const isCopy = sharedPlace(path) !== undefined;
  if (!(await fetchObject(root, ref, options.onTransferred)) || !isCopy) return read();
  try {
    return await read();
  } catch (error) {
    if (!isCopyProblem(error)) throw error;
  }
  // One reader repairs at a time: parallel repairs would remove each other's copy.
  return repairMutexes.runExclusive(path, () => repairCopy(root, ref, read, options));
}

async function repairCopy<T>(
  root: string,
  ref: Ref,
  read: () => Promise<T>,
  { onDamage, onTransferred }: ReadOptions,
): Promise<T> {
  for (let fetches = 0; ; fetches += 1) {
    if (!(await fetchObject(root, ref, onTransferred))) return read();
    try {
      return await read();
    } catch (error) {
      if (!isCopyProblem(error)) throw error;
      const isDamaged = error instanceof InvalidArtifact;
      if (fetches === MAX_FETCHES) {
        if (isDamaged) await discardObject(root, ref);
        throw error;
      }
      if (isDamaged) onDamage({ file: error.file, problem: `${error.problem}; it is fetched again` });
      await discardCopy(root, ref);
    }
  }
}

/** A copy that is damaged, or that goes while it is read, since somebody has found it damaged. */
const isCopyProblem = (error: unknown): boolean =>
  error instanceof InvalidArtifact || errorCode(error) === 'ENOENT';
