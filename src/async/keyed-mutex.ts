import { Mutex } from 'async-mutex';

/** An activity attempt that holds a mutex, or waits for it. */
export interface MutexUser {
  /** Aborted when the attempt is cancelled, or its worker stops. */
  signal: AbortSignal;
  /** Aborted when the attempt has not heartbeated for its timeout: the server has given it up. */
  stalled: AbortSignal;
  heartbeat: (details: unknown) => void;
  /** Calls back at each heartbeat of this attempt. */
  onHeartbeat: (listener: () => void) => void;
}

interface Lock {
  mutex: Mutex;
  waiting: Set<MutexUser>;
}

/**
 * Runs work with the same key one after another within this worker: if several runs need the same warm-up,
 * one trains it, and the others find its result. Between workers, fencing tokens decide.
 */
export class KeyedMutex {
  readonly #locks = new Map<string, Lock>();

  /**
   * Waits until no other work with this key runs, then runs it. A heartbeat of the attempt that holds the
   * mutex is one of each attempt that waits. A stalled attempt, whose promise may never settle, holds the
   * mutex no longer; its work folder is fenced off by the next one.
   * @throws the reason of a signal that is aborted while waiting
   */
  async runExclusive<Result>(key: string, user: MutexUser, work: () => Promise<Result>): Promise<Result> {
    const ended = AbortSignal.any([user.signal, user.stalled]);
    ended.throwIfAborted();
    const lock = this.#locks.get(key) ?? { mutex: new Mutex(), waiting: new Set() };
    this.#locks.set(key, lock);
    let isHolding = false;
    const acquired = lock.mutex.acquire().then((release) => {
      isHolding = true;
      return (): void => {
        isHolding = false;
        release();
        if (!lock.mutex.isLocked() && this.#locks.get(key) === lock) this.#locks.delete(key);
      };
    });
    lock.waiting.add(user);
    const release = await unlessAborted(acquired, ended).finally(() => lock.waiting.delete(user));
    user.stalled.addEventListener('abort', release, { once: true });
    user.onHeartbeat(() => {
      if (!isHolding) return;
      for (const { heartbeat } of lock.waiting)
        heartbeat({ phase: 'waiting for another run that needs the same' });
    });
    try {
      return await work();
    } finally {
      release();
    }
  }
}

/** A mutex that is acquired after its signal was aborted is released at once, so that the queue moves on. */
async function unlessAborted(acquired: Promise<() => void>, signal: AbortSignal): Promise<() => void> {
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const abort = (): void => reject(signal.reason as Error);
  signal.addEventListener('abort', abort, { once: true });
  try {
    return await Promise.race([acquired, aborted]);
  } catch (error) {
    void acquired.then((release) => release());
    throw error;
  } finally {
    signal.removeEventListener('abort', abort);
  }
}
