import { Mutex } from 'async-mutex';

/** Work on one file or folder of this process, one after the other. */
export class PathMutexes {
  readonly #mutexes = new Map<string, Mutex>();

  async runExclusive<Result>(path: string, work: () => Promise<Result>): Promise<Result> {
    const mutex = this.#mutexes.get(path) ?? new Mutex();
    this.#mutexes.set(path, mutex);
    try {
      return await mutex.runExclusive(work);
    } finally {
      if (!mutex.isLocked()) this.#mutexes.delete(path);
    }
  }
}
