/** Objects of a store whose bucket has them all: this disk has copies of those that were used here. */
import { lstat, lutimes, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { atomicRemove, atomicWrite, makeFolder, syncFolder, temporaryName } from './atomic-write.ts';
import type { Bucket } from './bucket.ts';
import type { OnTransferred } from './bucket-transfers.ts';
import { sha256 } from './canonical-json.ts';
import { removeExcessCopies } from './copies-limit.ts';
import { errorCode, InvalidArtifact, undefinedIfMissing, withDiskErrors } from './errors.ts';
import { parseManifest, readManifest } from './object-integrity.ts';
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
 * @throws InvalidArtifact if the bucket has more bytes than the reference or its manifest says: then this disk gets
 * none, since a part of an object under its name would be damage; StoreUnavailable
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
      : fetchFile(path, { bucket: place.bucket, key: place.key, bytes: ref.bytes, onTransferred });
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

/**
 * Removes an object from the bucket if the bytes there, all of which are read, do not have its name, a hash: whoever
 * makes it again is then not told that it is there. A copy on this disk proves nothing about them, nor does what a
 * reference says of their size and number. @throws StoreUnavailable
 */
export async function removeIfDamaged(root: string, ref: Ref, onTransferred?: OnTransferred): Promise<void> {
  const path = objectPath(root, ref);
  const { bucket, key } = sharedPlace(path)!;
  if (!isFolderRef(ref)) {
    if (await isDamaged(bucket, { key, sha256: ref.sha256 }, onTransferred)) await bucket.remove(key);
    return;
  }
  const manifest = { key: sharedPlace(manifestPath(root, ref))!.key, sha256: ref.sha256 };
  if (!(await isFolderDamaged(bucket, { key, manifest }, onTransferred))) return;
  await bucket.remove(manifest.key);
  await removeSharedPath(path);
}

/** A key, and the hash that its bytes should have. */
type NamedBytes = { key: string; sha256: string };

async function isFolderDamaged(
  bucket: Bucket,
  { key, manifest }: { key: string; manifest: NamedBytes },
  onTransferred?: OnTransferred,
): Promise<boolean> {
  const text = await bucket.read(manifest.key);
  if (text === undefined) return false;
  if (sha256(text) !== manifest.sha256) return isDamaged(bucket, manifest);
  for (const { path, sha256 } of parseManifest(text, bucket.address(manifest.key), manifest.sha256))
    if (await isDamaged(bucket, { key: `${key}/${path}`, sha256 }, onTransferred)) return true;
  return false;
}

/** Whether the bucket has other bytes than it should, and nobody has replaced them while they were read. */
async function isDamaged(
  bucket: Bucket,
  { key, sha256 }: NamedBytes,
  onTransferred?: OnTransferred,
): Promise<boolean> {
  const before = await bucket.measure(key);
  const actual = await bucket.hash(key, onTransferred);
  if (before === undefined || actual === undefined || actual === sha256) return false;
  const after = await bucket.measure(key);
  return after?.etag === before.etag && after.modifiedMs === before.modifiedMs;
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
      const source = { bucket, key, bytes: file.bytes, onTransferred };
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

type Source = { bucket: Bucket; key: string; bytes: number; onTransferred: OnTransferred | undefined };

async function fetchFile(path: string, { bucket, key, bytes, onTransferred }: Source): Promise<boolean> {
  await makeFolder(dirname(path));
  const staged = temporaryName(dirname(path));
  try {
    if (!(await bucket.download(key, staged, bytes + 1, onTransferred))) return false;
    if ((await lstat(staged)).size > bytes)
      throw new InvalidArtifact(bucket.address(key), `it has more than the ${bytes} bytes that are expected`);
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
