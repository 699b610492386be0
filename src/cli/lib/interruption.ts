/**
 * Ctrl-C, SIGTERM and a closed terminal. The first asks for a clean stop; the second ends everything at once,
 * but for SIGHUP: a terminal that is closed sends it several times.
 */
export class Interruption {
  readonly #first = new AbortController();
  readonly #second = new AbortController();
  readonly #signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
  readonly #handler: () => void;

  /** @param onFirst called once, to say what happens now */
  constructor(onFirst: (signal: string) => void) {
    this.#handler = (signal?: string) => {
      if (this.#first.signal.aborted) {
        if (signal !== 'SIGHUP') this.#second.abort();
        return;
      }
      this.#first.abort();
      onFirst(signal ?? 'SIGINT');
    };
    for (const signal of this.#signals) process.on(signal, this.#handler);
  }

  /** Aborted by the first signal. */
  get stop(): AbortSignal {
    return this.#first.signal;
  }
  /** Aborted by the second. */
  get hurry(): AbortSignal {
    return this.#second.signal;
  }

  /**
   * The work's result, or undefined as soon as a stop is requested. What the work does after that is
   * ignored.
   */
  async unlessStopped<T>(work: Promise<T>): Promise<T | undefined> {
    if (this.stop.aborted) {
      work.catch(() => undefined);
      return undefined;
    }
    let onAbort: () => void = () => undefined;
    const stopped = new Promise<undefined>((resolve) => {
      onAbort = () => resolve(undefined);
      this.stop.addEventListener('abort', onAbort);
    });
    try {
      return await Promise.race([work, stopped]);
    } finally {
      this.stop.removeEventListener('abort', onAbort);
      work.catch(() => undefined);
    }
  }

  dispose(): void {
    for (const signal of this.#signals) process.off(signal, this.#handler);
  }
}
