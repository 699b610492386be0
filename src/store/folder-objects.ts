import { copyFile, link, mkdir, open, readdir, readFile, realpath, stat } from 'node:fs/promises';
import { constants } from 'node:fs';
import { dirname, join } from 'node:path';
import { syncFolder } from './atomic-write.ts';
import { sha256 } from './canonical-json.ts';
import { errorCode, ifExists, InvalidArtifact } from './errors.ts';
import { fileFacts } from './read-bytes.ts';
import type { OnHashed } from './read-bytes.ts';

/** What a folder holds, sorted by path. Its canonical JSON is the manifest, and the hash of that names the folder. */
export type Manifest = { path: string; sha256: string; bytes: number }[];

/** The files below a folder, relative, with `/`, sorted. @throws InvalidArtifact for sockets, devices and linked folders */
export async function listFiles(folder: string, under = ''): Promise<string[]> {
  const files: string[] = [];
  for (const entry of await readdir(join(folder, under), { withFileTypes: true })) {
    const path = under === '' ? entry.name : `${under}/${entry.name}`;
    if (entry.isDirectory()) files.push(...(await listFiles(folder, path)));
    else if ((await stat(join(folder, path))).isFile()) files.push(path);
    else
      throw new InvalidArtifact(
        join(folder, path),
        'neither a file nor a folder',
        {},
        'Remove it, or leave it out of the folder.',
      );
  }
  return files.sort();
}

/**
 * Fills `to` with the files of `from`, durably, and says what is there now. With `linked`, files are hard links where
 * the file system allows: no time, no space.
 */
export async function takeFolder(
  from: string,
  to: string,
  linked: boolean,
  onHashed?: OnHashed,
): Promise<Manifest> {
  const manifest: Manifest = [];
  const folders = new Set([to]);
  for (const path of await listFiles(from)) {
    const source = await realpath(join(from, path));
    const target = join(to, path);
    for (let folder = dirname(target); !folders.has(folder); folder = dirname(folder)) folders.add(folder);
    await mkdir(dirname(target), { recursive: true });
    if (!linked || !(await linkFile(source, target)))
      await copyFile(source, target, constants.COPYFILE_FICLONE);
    await syncFile(target);
    const { sha256, bytes } = await fileFacts(target, onHashed);
    manifest.push({ path, sha256, bytes });
  }
  for (const folder of folders) await syncFolder(folder);
  return manifest;
}

/** @throws InvalidArtifact if the manifest is missing or not the one with this hash */
export async function readManifest(file: string, expected: string): Promise<Manifest> {
  const data = await ifExists(readFile(file, 'utf8'));
  if (data === undefined) throw new InvalidArtifact(file, 'the manifest is missing', { expected });
  if (sha256(data) !== expected)
    throw new InvalidArtifact(file, 'the manifest was altered', { expected, found: sha256(data) });
  return JSON.parse(data) as Manifest;
}

/** @throws InvalidArtifact naming the first file that is missing, altered or too many */
export async function checkFolder(folder: string, manifest: Manifest, onHashed?: OnHashed): Promise<void> {
  for (const { path, sha256, bytes } of manifest) {
    const file = join(folder, path);
    const found = await ifExists(fileFacts(file, onHashed));
    if (found === undefined) throw new InvalidArtifact(file, 'missing', { expected: sha256 });
    if (found.bytes !== bytes || found.sha256 !== sha256)
      throw new InvalidArtifact(file, 'altered or torn', { expected: sha256, found: found.sha256 });
  }
  const known = new Set(manifest.map(({ path }) => path));
  const extra = (await listFiles(folder)).find((path) => !known.has(path));
  if (extra !== undefined)
    throw new InvalidArtifact(
      join(folder, extra),
      'a file that is not in the manifest',
      {},
      'Remove it: stored folders never change.',
    );
}

async function linkFile(source: string, target: string): Promise<boolean> {
  try {
    await link(source, target);
    return true;
  } catch (error) {
    // Another device, too many links, or not this user's file: a copy does as well.
    if (['EXDEV', 'EMLINK', 'EPERM', 'EACCES', 'ENOTSUP', 'ENOSYS'].includes(errorCode(error) ?? ''))
      return false;
    throw error;
  }
}

async function syncFile(path: string): Promise<void> {
  const handle = await open(path, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
