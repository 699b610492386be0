/** Objects of a store whose bucket has them all: this disk has copies of those that were used here. */
import { lutimes, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { atomicRemove, atomicWrite, makeFolder, syncFolder, temporaryName } from './atomic-write.ts';
import type { Bucket } from './bucket.ts';
import type { OnTransferred } from './bucket-transfers.ts';
import { sha256 } from './canonical-json.ts';
import { removeExcessCopies } from './copies-limit.ts';
import { errorCode, undefinedIfMissing, withDiskErrors } from './errors.ts';
import { readManifest } from './object-integrity.ts';
import { canaryPath, manifestPath, objectPath, tombstonePath } from './object-paths.ts';
import { isFolderRef } from './references.ts';
import { PathMutexes } from './path-mutexes.ts';
import type { FolderRef, Ref } from './references.ts';
import { removeSharedPath } from './shared-files.ts';
import { sharedPlace } from './shared-folders.ts';

/** Fetches of one object at a time: activities that need the same wait for the first. */
const fetchMutexes = new PathMutexes();

/**
 * Puts a copy of an object on this disk, unless it is there. Its bytes are for the caller to check.
 * @returns false if neither this disk nor the bucket has it; always true below no shared folder
 * @throws StoreUnavailable
 */
export async function fetchObject(root: string, ref: Ref, onTransferred?: OnTransferred): Promise<boolean> {
  const path = objectPath(root, ref);
  const place = sharedPlace(path);
  if (place === undefined) return true;
  return fetchMutexes.runExclusive(path, async () => {
    if (await markAsUsed(path)) return true;
    await removeExcessCopies(root);
    return isFolderRef(ref)
      ? fetchFolder(root, ref, { bucket: place.bucket, onTransferred })
      : fetchFile(path, { bucket: place.bucket, key: place.key, limit: ref.bytes + 1, onTransferred });
  });
}

/** Keeps a copy in the cache for longer. @returns whether there is one */
const markAsUsed = (path: string): Promise<boolean> =>
  withDiskErrors(
    path,
    async () =>
      (await undefinedIfMissing(lutimes(path, new Date(), new Date()).then(() => true))) !== undefined,
  );

/** Sends an object of this disk to the bucket, a folder's manifest last. @throws StoreUnavailable */
export async function publishObject(root: string, ref: Ref, onTransferred?: OnTransferred): Promise<void> {
  const path = objectPath(root, ref);
  const place = sharedPlace(path);
  if (place === undefined) return;
  const { bucket, key } = place;
  if (!isFolderRef(ref)) return bucket.upload(key, path, { onTransferred });
  const manifest = manifestPath(root, ref);
  for (const file of await readManifest(manifest, ref.sha256))
    await bucket.upload(`${key}/${file.path}`, join(path, file.path), { onTransferred });
  await bucket.upload(sharedPlace(manifest)!.key, manifest);
  await bucket.remove(sharedPlace(tombstonePath(root, ref))!.key);
}

/** Removes this disk's copy of an object. @throws StoreUnavailable */
export async function discardCopy(root: string, ref: Ref): Promise<void> {
  // First the manifest: a folder that is gone is fetched by whoever looks, with a manifest that has to stay.
  if (isFolderRef(ref)) await rm(manifestPath(root, ref), { force: true });
  await atomicRemove(objectPath(root, ref));
}

/** Removes a damaged object from disk and bucket, so that whoever makes it again is not told that it is there. */
export async function discardObject(root: string, ref: Ref): Promise<void> {
  const { bucket, key } = sharedPlace(objectPath(root, ref))!;
  if (isFolderRef(ref)) {
    await bucket.remove(sharedPlace(manifestPath(root, ref))!.key);
    await removeSharedPath(objectPath(root, ref));
  } else {
    await bucket.remove(key);
  }
  await discardCopy(root, ref);
}

async function fetchFolder(
  root: string,
  ref: FolderRef,
  { bucket, onTransferred }: Pick<Source, 'bucket' | 'onTransferred'>,
): Promise<boolean> {
  const path = objectPath(root, ref);
  const manifestFile = manifestPath(root, ref);
  const text = await bucket.read(sharedPlace(manifestFile)!.key);
  if (text === undefined || sha256(text) !== ref.sha256) return false;
  await makeFolder(dirname(path));
  await atomicWrite(manifestFile, text);
  const staged = temporaryName(dirname(path));
  try {
    await makeFolder(staged);
    for (const file of await readManifest(manifestFile, ref.sha256)) {
      const target = join(staged, file.path);
      await makeFolder(dirname(target));
      const key = `${sharedPlace(path)!.key}/${file.path}`;
      const source = { bucket, key, limit: file.bytes + 1, onTransferred };
      if (!(await fetchFile(target, source))) return false;
    }
    await fetchCanary(root, ref, bucket);
    await nameFolder(staged, path);
    return true;
  } finally {
    await rm(staged, { recursive: true, force: true });
  }
}

/** A server of adapters is asked by it; a checkpoint may have none. */
async function fetchCanary(root: string, ref: FolderRef, bucket: Bucket): Promise<void> {
  const file = canaryPath(root, ref);
  const text = await bucket.read(sharedPlace(file)!.key);
  if (text !== undefined) await atomicWrite(file, text);
}

type Source = { bucket: Bucket; key: string; limit: number; onTransferred: OnTransferred | undefined };

async function fetchFile(path: string, { bucket, key, limit, onTransferred }: Source): Promise<boolean> {
  await makeFolder(dirname(path));
  const staged = temporaryName(dirname(path));
  try {
    if (!(await bucket.download(key, staged, limit, onTransferred))) return false;
    await withDiskErrors(path, async () => {
      await rename(staged, path);
      await syncFolder(dirname(path));
    });
    return true;
  } finally {
    await rm(staged, { force: true });
  }
}

/** Gives a staged folder its name, unless another process has put the same one meanwhile. */
export async function nameFolder(staged: string, path: string): Promise<void> {
  try {
    await rename(staged, path);
    await syncFolder(dirname(path));
  } catch (error) {
    if (!['ENOTEMPTY', 'EEXIST'].includes(errorCode(error) ?? '')) throw error;
  }
}
