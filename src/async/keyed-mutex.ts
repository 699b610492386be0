import { Mutex } from 'async-mutex';

/** An activity attempt that holds a mutex, or waits for it. */
export interface MutexUser {
  /** Aborted when the attempt must not wait any longer. */
  signal: AbortSignal;
  /** Aborted when the worker abandons the attempt because it has stalled. */
  abandoned: AbortSignal;
  heartbeat: (details: unknown) => void;
  /** Calls back at each heartbeat of this attempt. */
  onHeartbeat: (listener: () => void) => void;
}

interface Lock {
  mutex: Mutex;
  waiting: Set<MutexUser>;
}

/**
 * Runs work with the same key one after another within this worker: if several runs need the same warm-up, one trains
 * it, and the others find its result. Between workers, fencing tokens decide.
 */
export class KeyedMutex {
  readonly #locks = new Map<string, Lock>();

  /**
   * Waits until no other work with this key runs, then runs it. The heartbeats of the attempt that holds the mutex are
   * those of the attempts that wait for it. An attempt that is abandoned, whose promise may never settle, gives it up.
   * @throws the reason of a signal that is aborted while waiting
   */
  async runExclusive<Result>(key: string, user: MutexUser, work: () => Promise<Result>): Promise<Result> {
    const lock = this.#locks.get(key) ?? { mutex: new Mutex(), waiting: new Set() };
    this.#locks.set(key, lock);
    const release = await acquire(lock, user);
    let isHolding = true;
    const releaseAndForget = (): void => {
      isHolding = false;
      release();
      if (!lock.mutex.isLocked() && this.#locks.get(key) === lock) this.#locks.delete(key);
    };
    user.abandoned.addEventListener('abort', releaseAndForget, { once: true });
    user.onHeartbeat(() => {
      if (!isHolding) return;
      for (const { heartbeat } of lock.waiting)
        heartbeat({ phase: 'waiting for another run that needs the same' });
    });
    try {
      return await work();
    } finally {
      releaseAndForget();
    }
  }
}

/** @returns a function that releases the mutex; further calls change nothing */
async function acquire({ mutex, waiting }: Lock, user: MutexUser): Promise<() => void> {
  const signal = AbortSignal.any([user.signal, user.abandoned]);
  signal.throwIfAborted();
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const abort = (): void => reject(signal.reason as Error);
  signal.addEventListener('abort', abort, { once: true });
  waiting.add(user);
  const acquired = mutex.acquire();
  try {
    return await Promise.race([acquired, aborted]);
  } catch (error) {
    // Its place in the queue is passed on when its turn comes.
    void acquired.then((release) => release());
    throw error;
  } finally {
    waiting.delete(user);
    signal.removeEventListener('abort', abort);
  }
}
