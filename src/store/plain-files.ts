/**
 * Files in folders that somebody else may write to: opened as what they are. A link, a pipe or a device in
 * the place of a file is damage, and is never followed; nor is a link in the place of a folder above it.
 */
import { constants } from 'node:fs';
import { lstat } from 'node:fs/promises';
import type { FileHandle } from 'node:fs/promises';
import { join, relative, sep } from 'node:path';
import { makeFolder } from './atomic-write.ts';
import { errorCode, InvalidArtifact, undefinedIfMissing, withDiskErrors } from './errors.ts';
import { LINK_REMEDY, openInPlace } from './real-place.ts';

/** Of a file that is one JSON value, or that a training job writes. */
export const MAX_FILE_BYTES = 64_000_000;

/** Of a file of lines, such as a ledger, and of an object: the longest text that Node can hold. */
export const MAX_LINES_BYTES = 2 ** 29 - 24;

/** Files hold prompts, traces and names of servers: nobody else of the machine reads them. */
const OWNER_ONLY = 0o600;

class NotAFile extends InvalidArtifact {
  constructor(path: string) {
    super(path, 'it is a link, a pipe or a device, where a file belongs', {}, LINK_REMEDY);
  }
}

class FileTooLarge extends InvalidArtifact {
  constructor(path: string, bytes: number, limit: number) {
    super(
      path,
      `it has ${bytes} bytes; at most ${limit} are read`,
      {},
      'remove it or put back what was there',
    );
  }
}

/**
 * Opens a file, which must be one.
 * @param flags of `node:fs` constants, such as O_RDONLY
 * @throws InvalidArtifact for a link or anything else that is no file; the system's error otherwise
 */
export async function openPlainFile(path: string, flags: number): Promise<FileHandle> {
  let handle: FileHandle;
  try {
    // A pipe would wait for its other end without O_NONBLOCK.
    handle = await openInPlace(path, flags | constants.O_NOFOLLOW | constants.O_NONBLOCK, OWNER_ONLY);
  } catch (error) {
    if (['ELOOP', 'ENXIO', 'EMLINK'].includes(errorCode(error) ?? '')) throw new NotAFile(path);
    throw error;
  }
  if ((await handle.stat()).isFile()) return handle;
  await handle.close();
  throw new NotAFile(path);
}

/**
 * The content of a file.
 * @param limit in bytes: whoever may write the folder could fill this process's memory
 * @throws InvalidArtifact for a file beyond the limit; as `openPlainFile` otherwise
 */
export async function readPlainFile(path: string, limit = MAX_FILE_BYTES): Promise<Buffer> {
  const handle = await openPlainFile(path, constants.O_RDONLY);
  try {
    return await readOpened(handle, path, limit);
  } finally {
    await handle.close();
  }
}

/**
 * The content of a file that is open. Of one that grows meanwhile, as much as it had: `handle.readFile` would ask
 * for the size again, and read a file that was empty to its end.
 * @param from bytes that are left out
 * @throws InvalidArtifact for a file beyond the limit
 */
export async function readOpened(
  handle: FileHandle,
  path: string,
  limit = MAX_FILE_BYTES,
  from = 0,
): Promise<Buffer> {
  const size = (await handle.stat()).size - from;
  if (size > limit) throw new FileTooLarge(path, size, limit);
  const data = Buffer.alloc(Math.max(0, size));
  let length = 0;
  while (length < size) {
    const { bytesRead } = await handle.read(data, length, size - length, from + length);
    if (bytesRead === 0) break;
    length += bytesRead;
  }
  return data.subarray(0, length);
}

/**
 * The text of a file that says its own hash; undefined if there is none. A link, a pipe or a folder in its place,
 * and a file that is too large, have an empty text, which is as damaged as a torn one.
 * @throws InvalidArtifact if a folder above it is a link
 */
export async function readHashedText(path: string): Promise<string | undefined> {
  try {
    return (await undefinedIfMissing(readPlainFile(path)))?.toString('utf8');
  } catch (error) {
    if (error instanceof NotAFile || error instanceof FileTooLarge) return '';
    throw error;
  }
}

/** Whether a file is there. @throws InvalidArtifact for a link or anything else that is no file */
export async function isPlainFile(path: string): Promise<boolean> {
  const stats = await undefinedIfMissing(lstat(path));
  if (stats !== undefined && !stats.isFile()) throw new NotAFile(path);
  return stats !== undefined;
}

/** Opens a file to read it and to add to its end; makes it if there is none. @throws as `openPlainFile` */
export const openToAppend = (path: string): Promise<FileHandle> =>
  openPlainFile(path, constants.O_RDWR | constants.O_APPEND | constants.O_CREAT);

/** Refuses a link in the place of a folder; a folder that does not exist is right. @throws InvalidArtifact */
export async function requirePlainFolder(path: string): Promise<void> {
  const stats = await undefinedIfMissing(lstat(path));
  if (stats !== undefined && !stats.isDirectory())
    throw new InvalidArtifact(
      path,
      'it is a link or a file, where a folder of this project belongs',
      {},
      LINK_REMEDY,
    );
}

/**
 * Makes a folder below `root`, and its parents, none of which may be a link; `root` itself may.
 * @throws InvalidArtifact, StoreUnavailable
 */
export async function makePlainFolder(root: string, folder: string): Promise<void> {
  let path = root;
  for (const name of relative(root, folder).split(sep)) {
    path = join(path, name);
    await withDiskErrors(path, () => requirePlainFolder(path));
    await makeFolder(path);
  }
}
