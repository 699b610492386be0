import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { isTemporary } from './atomic-write.ts';
import { ifExists } from './errors.ts';

/** Something on disk: absolute path, size with all below it, and when it was last written. */
export type Found = { path: string; bytes: number; mtimeMs: number };

/** Names in a folder, sorted; none where it is not there. */
export const namesIn = async (folder: string): Promise<string[]> =>
  ((await ifExists(readdir(folder))) ?? []).sort();

/** Size and age of a file or folder; undefined where it has gone in the meantime. */
export async function measure(path: string): Promise<Found | undefined> {
  const own = await ifExists(stat(path));
  if (own === undefined) return undefined;
  if (!own.isDirectory()) return { path, bytes: own.size, mtimeMs: own.mtimeMs };
  const found: Found = { path, bytes: 0, mtimeMs: own.mtimeMs };
  for (const name of await namesIn(path)) {
    const below = await measure(join(path, name));
    found.bytes += below?.bytes ?? 0;
    found.mtimeMs = Math.max(found.mtimeMs, below?.mtimeMs ?? 0);
  }
  return found;
}

/** Files and folders directly in `objects/<aa>/`: name without the path, and where. */
export async function scanObjects(root: string): Promise<{ uri: string; path: string }[]> {
  const found: { uri: string; path: string }[] = [];
  for (const prefix of await namesIn(join(root, 'objects'))) {
    for (const name of await namesIn(join(root, 'objects', prefix))) {
      const [, suffix] = /^[0-9a-f]{64}(\.jsonl|\.json|\.txt|\.manifest\.json|)$/.exec(name) ?? [];
      if (suffix === undefined) continue;
      // A manifest goes with its folder.
      const uri = `objects/${prefix}/${suffix === '' ? `${name}/` : name.replace('.manifest.json', '/')}`;
      found.push({ uri, path: join(root, 'objects', prefix, name) });
    }
  }
  return found;
}

/** What killed processes left under temporary names, in the store and in run folders. */
export async function scanTemporaries(root: string, runFolders: string[]): Promise<string[]> {
  const found: string[] = [];
  const visit = async (folder: string, depth: number): Promise<void> => {
    for (const entry of (await ifExists(readdir(folder, { withFileTypes: true }))) ?? []) {
      const path = join(folder, entry.name);
      if (isTemporary(entry.name)) found.push(path);
      else if (entry.isDirectory() && depth > 1) await visit(path, depth - 1);
    }
  };
  await visit(join(root, 'objects'), 2);
  await visit(join(root, 'keys'), 5);
  await visit(join(root, 'work'), 3);
  for (const folder of runFolders) await visit(folder, 1);
  return found.sort();
}

/** Work folders, with the experiment and epoch in their names. */
export async function scanWork(root: string): Promise<{ path: string; experiment: string; epoch: number }[]> {
  const found: { path: string; experiment: string; epoch: number }[] = [];
  for (const experiment of await namesIn(join(root, 'work'))) {
    for (const name of await namesIn(join(root, 'work', experiment))) {
      const epoch = /^(\d{4,})-.+-[0-9a-f]{12}$/.exec(name)?.[1];
      if (epoch !== undefined)
        found.push({ path: join(root, 'work', experiment, name), experiment, epoch: Number(epoch) });
    }
  }
  return found;
}

/** Uris of objects that an unfinished job reads: the paths in the JSON files of its work folder. */
export async function urisInWork(path: string): Promise<string[]> {
  const found: string[] = [];
  for (const name of (await namesIn(path)).filter((name) => name.endsWith('.json'))) {
    const text = (await ifExists(readFile(join(path, name), 'utf8'))) ?? '';
    for (const [uri] of text.matchAll(/objects\/[0-9a-f]{2}\/[0-9a-f]{64}(\.jsonl|\.json|\.txt|)/g))
      found.push(/\.\w+$/.test(uri) ? uri : `${uri}/`);
  }
  return found;
}
