import { BoundedMap } from '../async/bounded-map.ts';
import { fileStamp } from '../store/file-stamp.ts';
import { sharedPlace } from '../store/shared-folders.ts';

/** How long what Temporal said, and a list of folders on a disk, are taken as true. */
export const LIVE_MS = 1_000;
/** How often files and folders are looked for in a bucket: each time takes some requests. */
const REFRESH_MS = 10_000;

/** A stamp that changes every `ms` milliseconds. */
export const momentStamp = (ms: number): string => String(Math.floor(Date.now() / ms));

/** A stamp that changes whenever a list of the folders below a root must be read again. */
export const listStamp = (root: string): string =>
  momentStamp(sharedPlace(root) === undefined ? LIVE_MS : REFRESH_MS);

const MAX_FOLDERS = 10_000;

/** Stamps of files in folders that a bucket may have. */
export class FolderStamps {
  readonly #refreshed = new BoundedMap<string, number>(MAX_FOLDERS);

  /**
   * Changes when one of some files of a folder does. What a bucket has of them is brought to this disk first.
   * @param refresh does that
   * @throws what `refresh` throws, such as StoreUnavailable
   */
  async get(folder: string, files: readonly string[], refresh: () => Promise<void>): Promise<string> {
    const now = Date.now();
    if (sharedPlace(folder) !== undefined && now - (this.#refreshed.get(folder) ?? 0) > REFRESH_MS) {
      this.#refreshed.set(folder, now);
      await refresh();
    }
    return fileStamp(files);
  }
}
