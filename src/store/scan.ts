import { lstat, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { isTemporary } from './atomic-write.ts';
import { undefinedIfMissing } from './errors.ts';
import { parseKeyRecord } from './phase-cache.ts';
import type { PhaseKey } from './phase-cache.ts';
import { readPlainFile } from './plain-files.ts';
import { refsIn } from './references.ts';
import type { Ref } from './references.ts';
import { readSharedText } from './shared-files.ts';
import { sharedPlace } from './shared-folders.ts';
import { parseWorkName } from './work-folder.ts';
import { filesBelow, measureShared, namesBelow } from './shared-scan.ts';
import type { StoredFile } from './shared-scan.ts';

/** Walks over everything in a store, for garbage collection. */

/** Names in a folder, sorted; none if there is no folder. */
const namesIn = async (folder: string): Promise<string[]> =>
  sharedPlace(folder) !== undefined
    ? namesBelow(folder)
    : ((await undefinedIfMissing(readdir(folder))) ?? []).sort();

/** The same of the folders in it alone: a link to a folder is none. */
async function foldersIn(folder: string): Promise<string[]> {
  const place = sharedPlace(folder);
  return place === undefined ? foldersOnDisk(folder) : place.bucket.folders(`${place.key}/`);
}

async function foldersOnDisk(folder: string): Promise<string[]> {
  const entries = (await undefinedIfMissing(readdir(folder, { withFileTypes: true }))) ?? [];
  return entries
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => name)
    .sort();
}

/** Size and age of a file, a folder or a link; undefined if it has gone meanwhile. */
export async function measure(path: string): Promise<StoredFile | undefined> {
  return sharedPlace(path) === undefined ? measureOnDisk(path) : measureShared(path);
}

/** The same of a work folder, of which this disk may have a part that no bucket has: a job's files, a journal. */
export async function measureWork(path: string): Promise<StoredFile | undefined> {
  const onDisk = await measureOnDisk(path);
  const shared = sharedPlace(path) === undefined ? undefined : await measureShared(path);
  if (onDisk === undefined || shared === undefined) return onDisk ?? shared;
  return { path, bytes: onDisk.bytes + shared.bytes, mtimeMs: Math.max(onDisk.mtimeMs, shared.mtimeMs) };
}

/** The same of what is on this disk, whatever a bucket has. */
export async function measureOnDisk(path: string): Promise<StoredFile | undefined> {
  const own = await undefinedIfMissing(lstat(path));
  if (own === undefined) return undefined;
  if (!own.isDirectory()) return { path, bytes: own.size, mtimeMs: own.mtimeMs };
  const folder: StoredFile = { path, bytes: 0, mtimeMs: own.mtimeMs };
  for (const name of (await undefinedIfMissing(readdir(path))) ?? []) {
    const entry = await measureOnDisk(join(path, name));
    folder.bytes += entry?.bytes ?? 0;
    folder.mtimeMs = Math.max(folder.mtimeMs, entry?.mtimeMs ?? 0);
  }
  return folder;
}

/** Files and folders directly in `objects/<aa>/`, with the uri of the object that they belong to. */
export async function scanObjects(root: string): Promise<{ uri: string; path: string }[]> {
  const objects: { uri: string; path: string }[] = [];
  for (const prefix of await foldersIn(join(root, 'objects'))) {
    for (const name of await namesIn(join(root, 'objects', prefix))) {
      const [, suffix] =
        /^[0-9a-f]{64}(\.jsonl|\.json|\.txt|\.manifest\.json|\.canary\.json|)$/.exec(name) ?? [];
      if (suffix === undefined) continue;
      // A manifest and a canary go with their folder.
      const uri = `objects/${prefix}/${suffix === '' ? `${name}/` : name.replace(/\.(manifest|canary)\.json$/, '/')}`;
      objects.push({ uri, path: join(root, 'objects', prefix, name) });
    }
  }
  return objects;
}

/** Files that killed processes left under temporary names, in the store and in run folders. */
export async function scanTemporaries(root: string, runFolders: string[]): Promise<string[]> {
  const temporaries: string[] = [];
  const visit = async (folder: string, depth: number): Promise<void> => {
    for (const entry of (await undefinedIfMissing(readdir(folder, { withFileTypes: true }))) ?? []) {
      const path = join(folder, entry.name);
      if (isTemporary(entry.name)) temporaries.push(path);
      else if (entry.isDirectory() && depth > 1) await visit(path, depth - 1);
    }
  };
  await visit(join(root, 'objects'), 2);
  await visit(join(root, 'keys'), 5);
  await visit(join(root, 'work'), 3);
  for (const folder of runFolders) await visit(folder, 1);
  return temporaries.sort();
}

/** The folder of a piece of work, with the experiment and epoch in its name. */
type FoundWork = { path: string; experiment: string; epoch: number };

/** Work folders, of this disk and of a bucket. */
export const scanWork = (root: string): Promise<FoundWork[]> =>
  findWork(root, async (folder) => [
    ...new Set([...(await foldersIn(folder)), ...(await foldersOnDisk(folder))]),
  ]);

/** The same of this disk alone. */
export const scanWorkOnDisk = (root: string): Promise<FoundWork[]> => findWork(root, foldersOnDisk);

async function findWork(
  root: string,
  listFolders: (folder: string) => Promise<string[]>,
): Promise<FoundWork[]> {
  const folders: FoundWork[] = [];
  for (const experiment of await listFolders(join(root, 'work'))) {
    for (const name of await listFolders(join(root, 'work', experiment))) {
      const work = parseWorkName(name);
      if (work !== undefined)
        folders.push({ path: join(root, 'work', experiment, name), experiment, epoch: work.epoch });
    }
  }
  return folders;
}

/**
 * Uris of objects that an unfinished job reads: the paths in the JSON files of its work folder.
 * @throws InvalidArtifact for a link in the place of such a file
 */
export async function urisInWork(path: string): Promise<string[]> {
  const uris: string[] = [];
  for (const name of ((await undefinedIfMissing(readdir(path))) ?? []).filter((name) =>
    name.endsWith('.json'),
  )) {
    const text = (await undefinedIfMissing(readPlainFile(join(path, name))))?.toString('utf8') ?? '';
    for (const [uri] of text.matchAll(/objects\/[0-9a-f]{2}\/[0-9a-f]{64}(\.jsonl|\.json|\.txt|)/g))
      uris.push(/\.\w+$/.test(uri) ? uri : `${uri}/`);
  }
  return uris;
}

export type RecordedKey = { file: string; key: PhaseKey; refs: Ref[] };

/** The records of finished work, by path, with the references in their values. */
export async function scanKeys(root: string): Promise<RecordedKey[]> {
  const folder = join(root, 'keys');
  const files = sharedPlace(folder) === undefined ? await filesOnDisk(folder) : await filesBelow(folder);
  const keys: RecordedKey[] = [];
  for (const file of files.filter((name) => /[0-9a-f]{64}\.json$/.test(name)).sort()) {
    const record = parseKeyRecord((await readSharedText(file)) ?? '');
    // A damaged record references nothing: its phase is done again.
    if (record === undefined) continue;
    keys.push({ file, key: record.key, refs: [...refsIn(record.value)].map(({ ref }) => ref) });
  }
  return keys;
}

async function filesOnDisk(folder: string): Promise<string[]> {
  // With the types of its entries, it does not look into links.
  const options = { recursive: true, withFileTypes: true } as const;
  const entries = (await undefinedIfMissing(readdir(folder, options))) ?? [];
  return entries.map(({ name, parentPath }) => join(parentPath, name));
}
