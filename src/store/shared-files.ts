/** Small files: on this disk, or, below a shared folder, in its bucket, of which this disk has copies. */
import { lstat, readdir, rename } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { InvalidConfig } from '../validation/invalid-config.ts';
import { atomicCreate, atomicRemove, atomicWrite, temporaryName } from './atomic-write.ts';
import { undefinedIfMissing, withDiskErrors } from './errors.ts';
import { MAX_LINES_BYTES, readHashedText, readPlainFile } from './plain-files.ts';
import { sharedPlace } from './shared-folders.ts';
import type { SharedPlace } from './shared-folders.ts';

/**
 * The text of a file that says its own hash, as `readHashedText` gives it; undefined if there is none.
 * @throws StoreUnavailable
 */
export async function readSharedText(file: string): Promise<string | undefined> {
  const place = sharedPlace(file);
  if (place === undefined) return withDiskErrors(file, () => readHashedText(file));
  return (await place.bucket.read(place.key))?.toString('utf8');
}

/** Writes a file: into the bucket first, then the copy on this disk. @throws StoreUnavailable */
export async function writeShared(file: string, data: string | Uint8Array): Promise<void> {
  const place = sharedPlace(file);
  if (place !== undefined) await place.bucket.put(place.key, Buffer.from(data));
  await atomicWrite(file, data);
}

/** Creates a file if there is none: exactly one of several writers gets true. @throws StoreUnavailable */
export async function createShared(file: string, data: string): Promise<boolean> {
  const place = sharedPlace(file);
  if (place === undefined) return atomicCreate(file, data);
  return place.bucket.create(place.key, Buffer.from(data));
}

/** Removes a file. @throws StoreUnavailable */
export async function removeShared(file: string): Promise<void> {
  const place = sharedPlace(file);
  if (place !== undefined) await place.bucket.remove(place.key);
  await atomicRemove(file);
}

/** Removes a file, or a folder and all below it: in the bucket first. @throws StoreUnavailable */
export async function removeSharedPath(path: string): Promise<void> {
  const place = sharedPlace(path);
  for (const { key } of (await place?.bucket.list(place.key)) ?? [])
    if (key === place?.key || key.startsWith(`${place?.key}/`)) await place?.bucket.remove(key);
  await atomicRemove(path);
}

/**
 * Makes the copy on this disk the file of the bucket; nothing if no bucket has it.
 * @throws InvalidConfig for a file that is on this disk alone, StoreUnavailable
 */
export async function refreshCopy(file: string): Promise<void> {
  const place = sharedPlace(file);
  if (place === undefined) return;
  const data = await place.bucket.read(place.key);
  const copy = await undefinedIfMissing(readPlainFile(file)).catch(() => Buffer.alloc(0));
  if (data === undefined && copy !== undefined) throw onThisDiskAlone(file, place);
  if (data !== undefined && copy?.equals(data) !== true) await atomicWrite(file, data);
}

/**
 * Sends a small folder, whose files never change, to the bucket; nothing below no shared folder.
 * @throws StoreUnavailable
 */
export async function publishFolder(folder: string): Promise<void> {
  const place = sharedPlace(folder);
  if (place === undefined) return;
  for (const name of await readdir(folder)) {
    const data = await readPlainFile(join(folder, name), MAX_LINES_BYTES);
    await place.bucket.put(`${place.key}/${name}`, data);
  }
}

/** Fetches the folders below one, of which this disk has none yet. @throws StoreUnavailable */
export async function fetchFolders(parent: string): Promise<void> {
  const place = sharedPlace(parent);
  if (place === undefined) return;
  for (const name of await place.bucket.folders(`${place.key}/`)) {
    const folder = join(parent, name);
    if (!/^\d{4,}$/.test(name) || (await undefinedIfMissing(lstat(folder))) !== undefined) continue;
    const staged = temporaryName(parent);
    for (const { key } of await place.bucket.list(`${place.key}/${name}/`)) {
      const data = await place.bucket.read(key, MAX_LINES_BYTES);
      if (data !== undefined) await atomicWrite(join(staged, basename(key)), data);
    }
    await withDiskErrors(folder, () => rename(staged, folder));
  }
}

/** What is here and not in the bucket is never removed: somebody may have had this folder before the bucket. */
export const onThisDiskAlone = (file: string, { bucket, key }: SharedPlace): InvalidConfig =>
  new InvalidConfig(
    `${file}: is on this disk, and not in the bucket (${bucket.address(key)}). Without store.json it is ` +
      'found again; `genenv store copy` then copies the run into a home folder that has one',
  );
