import { createHash } from 'node:crypto';
import { constants } from 'node:fs';
import { link, mkdir, readdir, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { z } from 'zod';
import { sum } from '../numerics/arithmetic.ts';
import { syncFolder } from './atomic-write.ts';
import { sha256 } from './canonical-json.ts';
import { errorCode, InvalidArtifact, undefinedIfMissing, withDiskErrors } from './errors.ts';
import { manifestPath, objectPath, tombstonePath } from './object-paths.ts';
import {
  MAX_FILE_BYTES,
  MAX_LINES_BYTES,
  openPlainFile,
  readPlainFile,
  requirePlainFolder,
} from './plain-files.ts';
import { openInPlace } from './real-place.ts';
import { isFolderRef } from './references.ts';
import type { FileRef, Ref } from './references.ts';
import { sharedPlace } from './shared-folders.ts';

/**
 * Compares every byte of an object with its reference. @throws InvalidArtifact naming the file,
 * StoreUnavailable
 */
export async function checkObject(root: string, ref: Ref, onHashed?: OnHashed): Promise<void> {
  const path = objectPath(root, ref);
  await withDiskErrors(path, async () => {
    if ((await undefinedIfMissing(stat(path))) === undefined) throw await missingError(root, ref);
    if (isFolderRef(ref)) await checkStoredFolder(root, ref, onHashed);
    else requireMatch(path, ref, await fileFacts(path, onHashed));
  });
}

/** The bytes of a file, checked. @throws InvalidArtifact, StoreUnavailable */
export async function readChecked(root: string, ref: FileRef): Promise<Buffer> {
  const path = objectPath(root, ref);
  // A phase may read 128 shards at a time: an altered one takes no more memory than a small one, or itself.
  const limit = Math.max(MAX_FILE_BYTES, Math.min(ref.bytes, MAX_LINES_BYTES));
  const data = await withDiskErrors(path, () => undefinedIfMissing(readPlainFile(path, limit)));
  if (data === undefined) throw await missingError(root, ref);
  requireMatch(path, ref, { sha256: sha256(data), bytes: data.length, lines: countLines(data) });
  return data;
}

/** True if the object is gone, and retention has noted that it removed it. */
export async function isPruned(root: string, ref: Ref): Promise<boolean> {
  if (await isPrunedHere(root, ref)) return true;
  const place = sharedPlace(tombstonePath(root, ref));
  if (place === undefined || (await isOnDisk(objectPath(root, ref)))) return false;
  return (await place.bucket.measure(place.key)) !== undefined;
}

const isPrunedHere = async (root: string, ref: Ref): Promise<boolean> =>
  !(await isOnDisk(objectPath(root, ref))) && isOnDisk(tombstonePath(root, ref));

const isOnDisk = async (path: string): Promise<boolean> =>
  (await withDiskErrors(path, () => undefinedIfMissing(stat(path)))) !== undefined;

async function checkStoredFolder(root: string, ref: Ref, onHashed?: OnHashed): Promise<void> {
  const path = objectPath(root, ref);
  await requirePlainFolder(path);
  const manifest = await readManifest(manifestPath(root, ref), ref.sha256);
  await checkFolder(path, manifest, onHashed);
  const bytes = sum(manifest.map((file) => file.bytes));
  if (bytes === ref.bytes && manifest.length === ref.count) return;
  throw new InvalidArtifact(
    path,
    `the reference says ${ref.count} files of ${ref.bytes} bytes, the manifest ${manifest.length} of ${bytes}`,
  );
}

function requireMatch(path: string, ref: FileRef, { sha256, bytes, lines }: FileFacts): void {
  if (sha256 !== ref.sha256 || bytes !== ref.bytes)
    throw new InvalidArtifact(path, 'altered or torn', { expected: ref.sha256 });
  const count = ref.uri.endsWith('.jsonl') ? lines : 1;
  if (count !== ref.count)
    throw new InvalidArtifact(path, `the reference says ${ref.count} records, the file has ${count}`);
}

async function missingError(root: string, ref: Ref): Promise<InvalidArtifact> {
  return new InvalidArtifact(
    objectPath(root, ref),
    (await isPrunedHere(root, ref)) ? 'pruned by `genenv gc`' : 'missing',
    { expected: ref.sha256 },
  );
}

/** The files of a folder, sorted by path. The hash of the manifest's canonical JSON names the folder. */
export type Manifest = { path: string; sha256: string; bytes: number }[];

/**
 * The files below a folder, relative, with `/`, sorted.
 * @throws InvalidArtifact for links, sockets and devices: nothing elsewhere is taken for a file of the folder
 */
export async function listFiles(folder: string, under = ''): Promise<string[]> {
  const files: string[] = [];
  for (const entry of await readdir(join(folder, under), { withFileTypes: true })) {
    const path = under === '' ? entry.name : `${under}/${entry.name}`;
    if (entry.isDirectory()) files.push(...(await listFiles(folder, path)));
    else if (entry.isFile()) files.push(path);
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
 * Fills `to` with the files of `from`, durably, and returns the manifest. With `linked`, files are hard links
 * if the file system allows: no time, no space.
 * @throws InvalidArtifact for a link, a socket or a device in `from`, or in its place
 */
export async function copyFolder(
  from: string,
  to: string,
  linked: boolean,
  onHashed?: OnHashed,
): Promise<Manifest> {
  await requirePlainFolder(from);
  const manifest: Manifest = [];
  const folders = new Set([to]);
  for (const path of await listFiles(from)) {
    const source = join(from, path);
    const target = join(to, path);
    for (let folder = dirname(target); !folders.has(folder); folder = dirname(folder)) folders.add(folder);
    await mkdir(dirname(target), { recursive: true });
    if (!linked || !(await linkFile(source, target))) await copyFile(source, target);
    await syncFile(target);
    const { sha256, bytes } = await fileFacts(target, onHashed);
    manifest.push({ path, sha256, bytes });
  }
  for (const folder of folders) await syncFolder(folder);
  return manifest;
}

const manifestSchema = z.array(
  z.strictObject({
    path: z
      .string()
      .regex(/^[^/\0]+(\/[^/\0]+)*$/)
      .refine((path) => !path.split('/').some((part) => part === '.' || part === '..')),
    sha256: z.string(),
    bytes: z.int().min(0),
  }),
);

/**
 * @throws InvalidArtifact if the manifest is missing, not the one with this hash, or names files elsewhere:
 * whoever may write the store chooses the hash too
 */
export async function readManifest(file: string, expected: string): Promise<Manifest> {
  const data = await undefinedIfMissing(readPlainFile(file));
  if (data === undefined) throw new InvalidArtifact(file, 'the manifest is missing', { expected });
  return parseManifest(data, file, expected);
}

/** @throws InvalidArtifact as `readManifest`; errors name `file` */
export function parseManifest(data: Buffer, file: string, expected: string): Manifest {
  if (sha256(data) !== expected) throw new InvalidArtifact(file, 'the manifest was altered', { expected });
  const { data: manifest } = manifestSchema.safeParse(JSON.parse(data.toString('utf8')));
  if (manifest === undefined)
    throw new InvalidArtifact(file, 'it lists what is not a file of the folder', { expected });
  return manifest;
}

/**
 * Errors say the hash that is expected, not the one that was found: nobody learns that of a file elsewhere.
 * @throws InvalidArtifact naming the first file that is missing, altered or not in the manifest, or a link
 */
export async function checkFolder(folder: string, manifest: Manifest, onHashed?: OnHashed): Promise<void> {
  // Another process may replace a damaged folder meanwhile.
  const files = await undefinedIfMissing(listFiles(folder));
  if (files === undefined) throw new InvalidArtifact(folder, 'missing');
  for (const { path, sha256, bytes } of manifest) {
    const file = join(folder, path);
    const actual = await undefinedIfMissing(fileFacts(file, onHashed));
    if (actual === undefined) throw new InvalidArtifact(file, 'missing', { expected: sha256 });
    if (actual.bytes !== bytes || actual.sha256 !== sha256)
      throw new InvalidArtifact(file, 'altered or torn', { expected: sha256 });
  }
  const listed = new Set(manifest.map(({ path }) => path));
  const extra = files.find((path) => !listed.has(path));
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

async function copyFile(source: string, target: string): Promise<void> {
  await using handle = await openInPlace(target, 'wx');
  await handle.writeFile(readChunks(source));
}

async function syncFile(path: string): Promise<void> {
  const handle = await openPlainFile(path, constants.O_RDONLY);
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

const NEWLINE = 0x0a;
/** Small: a phase may read all its shards at a time, at most 128 of them. */
const streamOptions = { highWaterMark: 1 << 16 };

/** The bytes of a file, in flat memory. @throws InvalidArtifact for a link */
async function* readChunks(path: string): AsyncGenerator<Buffer> {
  const handle = await openPlainFile(path, constants.O_RDONLY);
  // Closes the file at its end, and if whoever reads stops before.
  yield* handle.createReadStream(streamOptions) as AsyncIterable<Buffer>;
}

export type FileFacts = { sha256: string; bytes: number; lines: number };

/** Called while a large file is hashed, with the bytes done so far. */
export type OnHashed = (progress: { file: string; bytes: number }) => void;
/** Bytes between two calls of `onHashed`. */
const PROGRESS_BYTES = 64 << 20;

/** Hash, size and number of lines of a file, in one pass and in flat memory. @throws InvalidArtifact for a link */
export async function fileFacts(path: string, onHashed: OnHashed = () => undefined): Promise<FileFacts> {
  const digest = createHash('sha256');
  let bytes = 0;
  let lines = 0;
  for await (const chunk of readChunks(path)) {
    digest.update(chunk);
    const before = bytes;
    bytes += chunk.length;
    if (Math.floor(bytes / PROGRESS_BYTES) > Math.floor(before / PROGRESS_BYTES))
      onHashed({ file: path, bytes });
    lines += countLines(chunk);
  }
  return { sha256: digest.digest('hex'), bytes, lines };
}

function countLines(data: Buffer): number {
  let lines = 0;
  for (let end = data.indexOf(NEWLINE); end !== -1; end = data.indexOf(NEWLINE, end + 1)) lines += 1;
  return lines;
}

/** Splits at newlines only: a text in a record may hold U+2028, at which Node's own `readline` splits too. */
export function* linesOf(data: Buffer): Generator<string> {
  let start = 0;
  for (let end = data.indexOf(NEWLINE); end !== -1; end = data.indexOf(NEWLINE, start)) {
    yield data.toString('utf8', start, end);
    start = end + 1;
  }
  if (start < data.length) yield data.toString('utf8', start);
}

/** The lines of a file, in flat memory. */
export async function* streamLines(path: string): AsyncGenerator<string> {
  for await (const lines of wholeLines(path)) yield* linesOf(lines);
}

/**
 * A file in pieces of whole lines, and then what follows the last newline, in flat memory.
 * @throws InvalidArtifact for a link
 */
export async function* wholeLines(path: string): AsyncGenerator<Buffer> {
  let rest: Buffer[] = [];
  for await (const chunk of readChunks(path)) {
    const end = chunk.lastIndexOf(NEWLINE) + 1;
    if (end > 0) {
      yield Buffer.concat([...rest, chunk.subarray(0, end)]);
      rest = [];
    }
    if (end < chunk.length) rest.push(chunk.subarray(end));
  }
  yield Buffer.concat(rest);
}
