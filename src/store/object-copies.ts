/** Copies of a bucket's objects on this disk, read while others of this process may repair them. */
import type { OnTransferred } from './bucket-transfers.ts';
import { errorCode, InvalidArtifact, withDiskErrors } from './errors.ts';
import type { OnDamage } from './errors.ts';
import { checkFolder, fileFacts, readManifest } from './object-integrity.ts';
import type { OnHashed } from './object-integrity.ts';
import { manifestPath, objectPath } from './object-paths.ts';
import { PathMutexes } from './path-mutexes.ts';
import { requirePlainFolder } from './plain-files.ts';
import { isFolderRef } from './references.ts';
import type { Ref } from './references.ts';
import { sharedPlace } from './shared-folders.ts';
import { discardCopy, fetchObject, removeIfDamaged } from './shared-objects.ts';

interface ReadOptions {
  onDamage: OnDamage;
  onHashed: OnHashed;
  onTransferred: OnTransferred;
}

const repairMutexes = new PathMutexes();
/** Another process may remove a copy too, so one damaged read does not prove that the bucket's object is damaged. */
const MAX_FETCHES = 2;

/**
 * Reads an object; a copy of a shared one that is damaged is fetched again, and an object that is damaged in its
 * bucket is removed there, so that whoever makes it again is not told that it is there. Bytes that do not have the
 * name, a hash, are damaged: a reference that is wrong about the size of intact ones is refused, and no more.
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

/** Fetches a damaged copy again. @throws InvalidArtifact for an object that stays damaged, StoreUnavailable */
async function repairCopy<T>(
  root: string,
  ref: Ref,
  read: () => Promise<T>,
  { onDamage, onHashed, onTransferred }: ReadOptions,
): Promise<T> {
  for (let fetches = 0; await fetchObject(root, ref, onTransferred); fetches += 1) {
    try {
      return await read();
    } catch (error) {
      if (!isCopyProblem(error)) throw error;
    }
    const damage = await findDamage(root, ref, onHashed);
    if (damage === undefined) return read();
    await discardCopy(root, ref);
    if (fetches === MAX_FETCHES) {
      await removeIfDamaged(root, ref, onTransferred);
      throw damage;
    }
    onDamage({ file: damage.file, problem: `${damage.problem}; it is fetched again` });
  }
  return read();
}

/**
 * What is wrong with the bytes of a copy, by the object's name alone, whatever its reference says of their size and
 * number; undefined if nothing is. @throws StoreUnavailable
 */
async function findDamage(root: string, ref: Ref, onHashed: OnHashed): Promise<InvalidArtifact | undefined> {
  const path = objectPath(root, ref);
  try {
    await withDiskErrors(path, async () => {
      if (isFolderRef(ref)) {
        await requirePlainFolder(path);
        await checkFolder(path, await readManifest(manifestPath(root, ref), ref.sha256), onHashed);
      } else if ((await fileFacts(path, onHashed)).sha256 !== ref.sha256) {
        throw new InvalidArtifact(path, 'altered or torn', { expected: ref.sha256 });
      }
    });
    return undefined;
  } catch (error) {
    if (error instanceof InvalidArtifact) return error;
    if (isCopyProblem(error)) return new InvalidArtifact(path, 'missing', { expected: ref.sha256 });
    throw error;
  }
}

/** A copy that is damaged, or that goes while it is read, since somebody has found it damaged. */
const isCopyProblem = (error: unknown): boolean =>
  error instanceof InvalidArtifact || errorCode(error) === 'ENOENT';
