import { setTimeout as sleep } from 'node:timers/promises';
import { InvalidConfig } from '../validation/invalid-config.ts';
import type { Adapter } from './adapter.ts';
import type { Snapshot } from './feed.ts';

export interface FollowOptions {
  read: (waits: boolean) => Promise<Snapshot | null>;
  createAdapter: () => Adapter;
  /** Whether it ends once all that is committed is sent, though the run has not ended. */
  once: boolean;
  /** What asks it to end: it sends what is committed, and gives up at the first failure. */
  stop: AbortSignal;
  pollMs: number;
  /** The pause after a failure doubles from this to a minute. */
  retryMs: number;
  say: (text: string) => void;
}

export interface Followed {
  /** Last step that the tracker has; null for none. */
  last: number | null;
  /** Whether that is all that was committed. */
  caughtUp: boolean;
}

const MAX_PAUSE_MS = 60_000;
/** Failures in a row after which `once` gives up. */
const MAX_FAILURES = 3;

/**
 * Sends each committed epoch of a run to a tracker, in order. The tracker itself says where to continue, after
 * every failure too: a step that it has is not sent again, whoever sent it.
 * @throws InvalidConfig for what a person has to change; after some failures of `once`, the last one
 */
export async function followRun(options: FollowOptions): Promise<Followed> {
  const { read, once, stop, pollMs, retryMs, say } = options;
  const session = new Session(options.createAdapter);
  let failures = 0;
  let reported = '';
  try {
    for (;;) {
      const isLast = once || stop.aborted;
      try {
        const snapshot = await read(!isLast);
        if (snapshot !== null) await session.send(snapshot);
        if (reported !== '') say('It answers again, and has all epochs so far.');
        [failures, reported] = [0, ''];
        const isCurrent = snapshot !== null || !stop.aborted;
        if (isLast || (snapshot?.outcome ?? null) !== null) {
          await session.close(snapshot?.outcome ?? null);
          const problem = snapshot?.problem ?? null;
          if (problem !== null) say(`The ledger does not verify from there: ${problem}`);
          return { last: session.last, caughtUp: isCurrent && problem === null };
        }
      } catch (error) {
        await session.drop();
        if (error instanceof InvalidConfig) throw error;
        failures += 1;
        const { message } = error as Error;
        if (message !== reported) say(`${message}. It is tried again; the run is not affected.`);
        reported = message;
        if (stop.aborted) return { last: session.last, caughtUp: false };
        if (once && failures >= MAX_FAILURES) throw error;
      }
      const pause = failures === 0 ? pollMs : Math.min(MAX_PAUSE_MS, retryMs * 2 ** (failures - 1));
      await sleep(pause, undefined, { signal: stop }).catch(() => undefined);
    }
  } finally {
    await session.drop();
  }
}

/** The run that is open at the tracker. */
class Session {
  last: number | null = null;
  readonly #createAdapter: () => Adapter;
  #open: { adapter: Adapter; key: string } | undefined;

  constructor(createAdapter: () => Adapter) {
    this.#createAdapter = createAdapter;
  }

  async send({ run, epochs, describe }: Snapshot): Promise<void> {
    // Rewound meanwhile: another run at the tracker.
    if (this.#open !== undefined && this.#open.key !== run.key) await this.close(null);
    if (this.#open === undefined) {
      const adapter = this.#createAdapter();
      this.#open = { adapter, key: run.key };
      this.last = await adapter.open(run);
    }
    for (const epoch of epochs) {
      if (this.last !== null && epoch <= this.last) continue;
      await this.#open.adapter.send(await describe(epoch));
      this.last = epoch;
    }
  }

  async close(outcome: Snapshot['outcome']): Promise<void> {
    await this.#open?.adapter.close(outcome);
    await this.drop();
  }

  /** Ends the process as it is. */
  async drop(): Promise<void> {
    const dropped = this.#open;
    this.#open = undefined;
    await dropped?.adapter[Symbol.asyncDispose]();
  }
}
