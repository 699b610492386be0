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

/** Files hold prompts, traces and names of servers: nobody else of the machine reads them. */
const OWNER_ONLY = 0o600;

class NotAFile extends InvalidArtifact {
  constructor(path: string) {
    super(path, 'it is a link, a pipe or a device, where a file belongs', {}, LINK_REMEDY);
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

/** The content of a file. @throws as `openPlainFile` */
export async function readPlainFile(path: string): Promise<Buffer> {
  const handle = await openPlainFile(path, constants.O_RDONLY);
  try {
    return await handle.readFile();
  } finally {
    await handle.close();
  }
}

/**
 * The text of a file that says its own hash; undefined if there is none. A link, a pipe or a folder in its place
 * has an empty text, which is as damaged as a torn one.
 * @throws InvalidArtifact if a folder above it is a link
 */
export async function readHashedText(path: string): Promise<string | undefined> {
  try {
    return (await undefinedIfMissing(readPlainFile(path)))?.toString('utf8');
  } catch (error) {
    if (error instanceof NotAFile) return '';
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
