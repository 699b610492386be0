import { randomUUID } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { link, mkdir, open, rename, rm } from 'node:fs/promises';
import type { FileHandle } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { errorCode, withDiskErrors } from './errors.ts';
import { openInPlace } from './real-place.ts';

/** A name that no reader looks at; an old file with such a name was left by a killed process. */
export const temporaryName = (folder: string): string => join(folder, `.${randomUUID()}.tmp`);
export const isTemporary = (name: string): boolean => /^\.[0-9a-f-]{36}\.tmp$/.test(name);

/**
 * Writes a whole file so that a reader, or a power cut, finds the old file or the new one, nothing between.
 * @throws StoreUnavailable
 */
export async function atomicWrite(path: string, data: string | Uint8Array): Promise<void> {
  await stageAll(path, data, (staged) => staged.commit(path));
}

/**
 * Creates a whole file if there is none yet: exactly one of several writers gets true.
 * @throws StoreUnavailable
 */
export async function atomicCreate(path: string, data: string | Uint8Array): Promise<boolean> {
  return stageAll(path, data, (staged) => staged.create(path));
}

async function stageAll<T>(
  path: string,
  data: string | Uint8Array,
  finish: (staged: StagedFile) => Promise<T>,
): Promise<T> {
  const staged = await StagedFile.open(dirname(path));
  try {
    await staged.write(data);
    return await finish(staged);
  } finally {
    await staged.discard();
  }
}

/**
 * A file being written, under a temporary name. Always call `discard` at the end: after `commit` it does
 * nothing.
 */
export class StagedFile {
  readonly path: string;
  readonly #handle: FileHandle;
  #closed = false;

  private constructor(path: string, handle: FileHandle) {
    this.path = path;
    this.#handle = handle;
  }

  /** @throws StoreUnavailable, InvalidArtifact if a link is in the place of the folder or above it */
  static async open(folder: string): Promise<StagedFile> {
    return withDiskErrors(folder, async () => {
      await makeFolder(folder);
      const path = temporaryName(folder);
      return new StagedFile(path, await openInPlace(path, 'wx'));
    });
  }

  /** @throws StoreUnavailable */
  async write(data: string | Uint8Array): Promise<void> {
    await withDiskErrors(this.path, () => this.#handle.writeFile(data));
  }

  /** Adds the bytes of another file, in flat memory. @throws StoreUnavailable */
  async copy(source: string): Promise<void> {
    await withDiskErrors(this.path, () => this.#handle.writeFile(createReadStream(source)));
  }

  /** Gives the file its name, replacing any file of that name. @throws StoreUnavailable */
  async commit(target: string): Promise<void> {
    await withDiskErrors(target, async () => {
      await this.#finish();
      await makeFolder(dirname(target));
      await rename(this.path, target);
      await syncFolder(dirname(target));
    });
  }

  /** Gives the file its name unless a file has it; true if it did. @throws StoreUnavailable */
  async create(target: string): Promise<boolean> {
    return withDiskErrors(target, async () => {
      await this.#finish();
      try {
        await link(this.path, target);
      } catch (error) {
        if (errorCode(error) === 'EEXIST') return false;
        throw error;
      }
      await syncFolder(dirname(target));
      return true;
    });
  }

  async discard(): Promise<void> {
    await this.#close();
    await rm(this.path, { force: true });
  }

  async #finish(): Promise<void> {
    await this.#handle.sync();
    await this.#close();
  }

  async #close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    await this.#handle.close();
  }
}

/** Makes a folder and its parents so that they survive a power cut. @throws StoreUnavailable */
export async function makeFolder(folder: string): Promise<void> {
  await withDiskErrors(folder, async () => {
    // Not `recursive: true`, which reports a read-only file system as ENOENT.
    try {
      await mkdir(folder);
    } catch (error) {
      if (errorCode(error) === 'EEXIST') return;
      if (errorCode(error) !== 'ENOENT' || folder === dirname(folder)) throw error;
      await makeFolder(dirname(folder));
      await makeFolder(folder);
    }
    await syncFolder(dirname(folder));
  });
}

/** Makes the names in a folder durable; network file systems without this call are durable already. */
export async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r');
  try {
    await handle.sync();
  } catch (error) {
    if (!['EINVAL', 'ENOTSUP'].includes(errorCode(error) ?? '')) throw error;
  } finally {
    await handle.close();
  }
}

/** Removes a file or folder in one step: readers find all of it or nothing. @throws StoreUnavailable */
export async function atomicRemove(path: string): Promise<void> {
  await withDiskErrors(path, async () => {
    const aside = temporaryName(dirname(path));
    try {
      await rename(path, aside);
    } catch (error) {
      if (errorCode(error) === 'ENOENT') return;
      throw error;
    }
    await rm(aside, { recursive: true, force: true });
  });
}
