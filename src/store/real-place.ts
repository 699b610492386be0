/**
 * Where an open file really is. Whoever may write a folder can put a link in the place of one that was looked
 * at a moment ago; what the system says of an open file can no longer be changed by that.
 */
import { existsSync, readlinkSync } from 'node:fs';
import { open, realpath } from 'node:fs/promises';
import type { FileHandle } from 'node:fs/promises';
import { join, relative, resolve, sep } from 'node:path';
import { errorCode, InvalidArtifact } from './errors.ts';

/** Linux alone says where an open file is. */
const DESCRIPTORS = '/proc/self/fd';
const isSaid = existsSync(DESCRIPTORS);

/** Set by the operator, so there are few of them. */
const roots = new Set<string>();

/**
 * From now on no file below this folder is opened through a link; the folder itself, and what is above it, may
 * be links. @returns its absolute path
 */
export function followNoLinksBelow(root: string): string {
  const path = resolve(root);
  roots.add(path);
  return path;
}

const MAX_TRIES = 10;

/**
 * Opens a file that is where its path says, with no link below its root in the place of a folder. Below no
 * root, and where the system does not say where a file is, nothing is compared.
 * @param flags as of `open`; a file that they make is left empty where a link leads
 * @throws InvalidArtifact for such a link; the system's error otherwise
 */
export async function openInPlace(path: string, flags: string | number, mode?: number): Promise<FileHandle> {
  // A file that was replaced or removed since it was opened is elsewhere too, until the next try.
  for (let tries = 1; tries <= MAX_TRIES; tries += 1) {
    const handle = await open(path, flags, mode).catch((error: unknown) => {
      // The try before has made it, elsewhere.
      throw tries > 1 && errorCode(error) === 'EEXIST' ? linkAbove(path) : error;
    });
    try {
      if (await isInPlace(handle, resolve(path))) return handle;
    } catch (error) {
      await handle.close();
      throw error;
    }
    await handle.close();
  }
  throw linkAbove(path);
}

const linkAbove = (path: string): InvalidArtifact =>
  new InvalidArtifact(path, 'a folder above it is a link', {}, LINK_REMEDY);

export const LINK_REMEDY = 'Remove it: whoever put it there can write to this folder.';

async function isInPlace({ fd }: FileHandle, path: string): Promise<boolean> {
  if (!isSaid) return true;
  const place = readlinkSync(`${DESCRIPTORS}/${fd}`);
  if (place === path) return true;
  const root = rootOf(path);
  if (root === undefined) return true;
  const real = await realpath(root).catch(() => undefined);
  return real !== undefined && place === join(real, relative(root, path));
}

/** The innermost root. */
function rootOf(path: string): string | undefined {
  let innermost: string | undefined;
  for (const root of roots)
    if (path.startsWith(`${root}${sep}`) && root.length > (innermost?.length ?? 0)) innermost = root;
  return innermost;
}
