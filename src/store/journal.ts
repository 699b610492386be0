import type { FileHandle } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { Mutex } from 'async-mutex';
import { makeFolder, syncFolder } from './atomic-write.ts';
import { canonicalJson, sha256 } from './canonical-json.ts';
import { withDiskErrors } from './errors.ts';
import type { OnDamage } from './errors.ts';
import { MAX_LINES_BYTES, openToAppend, readOpened } from './plain-files.ts';

export type JournalOptions = {
  onDamage?: OnDamage;
  /** Called before each write, such as a fencing token's check: an error that it throws stops the append. */
  assertCurrent?: () => Promise<void>;
};

/**
 * Entries of unfinished work, each on disk when its `append` returns. A line is the sha256 of an entry's
 * canonical JSON, a space, and that JSON. Opening cuts a torn tail, which a killed process leaves, and
 * reports and cuts everything from the first damaged line on; that work is done again.
 */
export class Journal<T> {
  readonly path: string;
  /** The entries at the time it was opened; later ones are on disk only. */
  readonly entries: T[];
  readonly #file: FileHandle;
  readonly #assertCurrent: () => Promise<void>;
  /** Where each of the entries begins in the file. */
  readonly #starts: readonly number[];
  readonly #mutex = new Mutex();

  private constructor(
    path: string,
    { entries, starts }: { entries: T[]; starts: readonly number[] },
    file: FileHandle,
    assertCurrent: () => Promise<void>,
  ) {
    this.path = path;
    this.entries = entries;
    this.#starts = starts;
    this.#file = file;
    this.#assertCurrent = assertCurrent;
  }

  /** @throws StoreUnavailable */
  static async open<T>(
    path: string,
    { onDamage = () => undefined, assertCurrent = () => Promise.resolve() }: JournalOptions = {},
  ): Promise<Journal<T>> {
    const absolute = resolve(path);
    await makeFolder(dirname(absolute));
    return withDiskErrors(absolute, async () => {
      const file = await openToAppend(absolute);
      try {
        const data = await readOpened(file, absolute, MAX_LINES_BYTES);
        const { entries, starts, length, problem } = parseJournal(data);
        if (problem !== undefined) onDamage({ file: absolute, problem });
        if (length < data.length) await file.truncate(length);
        await syncFolder(dirname(absolute));
        return new Journal(absolute, { entries: entries as T[], starts }, file, assertCurrent);
      } catch (error) {
        await file.close();
        throw error;
      }
    });
  }

  /**
   * Adds an entry, durably. Concurrent calls are written in the order they were made.
   * @throws NotSerializable, StoreUnavailable, and what `assertCurrent` throws
   */
  async append(entry: T): Promise<void> {
    const text = canonicalJson(entry);
    await this.#mutex.runExclusive(async () => {
      await this.#assertCurrent();
      await withDiskErrors(this.path, () => this.#write(`${sha256(text)} ${text}\n`));
    });
  }

  /**
   * Cuts the file from this entry on, and all that was appended.
   * @throws StoreUnavailable, and what `assertCurrent` throws
   */
  async cutFrom(index: number): Promise<void> {
    await this.#mutex.runExclusive(async () => {
      await this.#assertCurrent();
      await withDiskErrors(this.path, async () => {
        await this.#file.truncate(this.#starts[index]);
        await this.#file.sync();
      });
    });
  }

  /** Closes the file after all pending appends. */
  async close(): Promise<void> {
    await this.#mutex.runExclusive(() => this.#file.close());
  }

  async #write(line: string): Promise<void> {
    const { size } = await this.#file.stat();
    try {
      await this.#file.appendFile(line);
      await this.#file.sync();
    } catch (error) {
      // A full disk takes half a line: without this cut the next entry would be glued to it.
      await this.#file.truncate(size).catch(() => undefined);
      throw error;
    }
  }
}

function parseJournal(data: Buffer): {
  entries: unknown[];
  starts: number[];
  length: number;
  problem?: string;
} {
  const entries: unknown[] = [];
  const starts: number[] = [];
  let length = 0;
  for (let end = data.indexOf('\n'); end !== -1; end = data.indexOf('\n', length)) {
    const line = data.subarray(length, end);
    const entry = line.subarray(65);
    if (line.toString('latin1', 0, 65) !== `${sha256(entry)} `) {
      const lost = `it and what follows (${data.length - length} bytes) is cut and done again`;
      return { entries, starts, length, problem: `line ${entries.length + 1} is damaged; ${lost}` };
    }
    entries.push(JSON.parse(entry.toString('utf8')));
    starts.push(length);
    length = end + 1;
  }
  return { entries, starts, length };
}
