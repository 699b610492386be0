/** What a mutex needs of an activity's context. */
interface Context {
  signal: AbortSignal;
  heartbeat: (details: unknown) => void;
  onBeat: (listener: () => void) => void;
}

interface Holder {
  released: Promise<undefined>;
  /** Heartbeats of those that wait. */
  waiting: Set<() => void>;
}

/**
 * Runs work with the same key one after another within this worker, such as a warm-up that several runs need:
 * the second finds the recorded result of the first, instead of taking its work folder. Between workers,
 * fencing tokens decide.
 */
export class KeyedMutex {
  readonly #holders = new Map<string, Holder>();

  /**
   * Waits until no other work holds the key, then runs this work. Those that wait heartbeat when the holder
   * does, and a holder that has not done so for `silenceMs` loses the key: its promise may never settle.
   * @throws the signal's reason if it aborts while waiting
   */
  async runExclusive<Result>(
    key: string,
    context: Context,
    silenceMs: number,
    work: () => Promise<Result>,
  ): Promise<Result> {
    for (let current; (current = this.#holders.get(key)) !== undefined;) await waitFor(current, context);
    const { promise: released, resolve } = Promise.withResolvers<undefined>();
    const holder: Holder = { released, waiting: new Set() };
    const release = (): void => {
      clearTimeout(silence);
      if (this.#holders.get(key) === holder) this.#holders.delete(key);
      resolve(undefined);
    };
    const silence = setTimeout(release, silenceMs);
    this.#holders.set(key, holder);
    context.onBeat(() => {
      silence.refresh();
      for (const heartbeat of holder.waiting) heartbeat();
    });
    try {
      return await work();
    } finally {
      release();
    }
  }
}

async function waitFor({ released, waiting }: Holder, { signal, heartbeat }: Context): Promise<void> {
  const { promise: aborted, resolve: abort } = Promise.withResolvers<undefined>();
  const sendHeartbeat = (): void => heartbeat({ phase: 'waiting for another run that needs the same' });
  waiting.add(sendHeartbeat);
  signal.addEventListener('abort', () => abort(undefined), { once: true });
  if (signal.aborted) abort(undefined);
  await Promise.race([released, aborted]);
  waiting.delete(sendHeartbeat);
  signal.throwIfAborted();
}
