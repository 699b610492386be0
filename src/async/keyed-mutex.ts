/** An activity attempt, as far as a mutex is concerned. */
interface Attempt {
  signal: AbortSignal;
  heartbeat: (details: unknown) => void;
  onBeat: (listener: () => void) => void;
}

interface Holder {
  over: Promise<undefined>;
  /** Heartbeats of those that wait. */
  waiting: Set<() => void>;
}

/**
 * Work that several runs may ask one worker for at once, such as the same warm-up: each does it in turn, so
 * that the second finds what the first has recorded, instead of claiming the first one's work folder. Other
 * workers know nothing of it: between them claims decide.
 */
export class KeyedMutex {
  readonly #turns = new Map<string, Holder>();

  /**
   * Waits until nobody else is at the work of that key, then does it. The progress of the one that is at it
   * is the progress of those that wait, and one that has made none for `silenceMs` is waited for no longer.
   * @throws the signal's reason when it aborts while waiting
   */
  async take<Result>(
    key: string,
    attempt: Attempt,
    silenceMs: number,
    work: () => Promise<Result>,
  ): Promise<Result> {
    for (let turn; (turn = this.#turns.get(key)) !== undefined;) await waitFor(turn, attempt);
    const { promise: over, resolve } = Promise.withResolvers<undefined>();
    const turn: Holder = { over, waiting: new Set() };
    const end = (): void => {
      clearTimeout(silence);
      if (this.#turns.get(key) === turn) this.#turns.delete(key);
      resolve(undefined);
    };
    const silence = setTimeout(end, silenceMs);
    this.#turns.set(key, turn);
    attempt.onBeat(() => {
      silence.refresh();
      for (const beat of turn.waiting) beat();
    });
    try {
      return await work();
    } finally {
      end();
    }
  }
}

async function waitFor({ over, waiting }: Holder, { signal, heartbeat }: Attempt): Promise<void> {
  const { promise: aborted, resolve: abort } = Promise.withResolvers<undefined>();
  const beat = (): void => heartbeat({ phase: 'waiting for another run that needs the same' });
  waiting.add(beat);
  signal.addEventListener('abort', () => abort(undefined), { once: true });
  if (signal.aborted) abort(undefined);
  await Promise.race([over, aborted]);
  waiting.delete(beat);
  signal.throwIfAborted();
}
