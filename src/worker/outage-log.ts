/**
 * Which tries at a model server that is away are written to a run's events. An outage may last for nights, so
 * only its first tries get a line each, then one every five minutes, which counts those between.
 */
import type { RunEvent } from '../runs/file-schemas.ts';
import type { OutageDetails } from '../types/outage-types.ts';

const firstTries = 20;
const intervalMs = 5 * 60_000;

interface Outage {
  server: string;
  tries: number;
  sinceMs: number;
  writtenMs: number;
}

export class OutageLog {
  readonly #outages = new Map<string, Outage>();

  /** The event of a try that failed; undefined for one that is only counted. */
  tryFailed(
    { run, phase }: { run: string; phase: string },
    { server, reason }: Pick<OutageDetails, 'server' | 'reason'>,
    nowMs = Date.now(),
  ): RunEvent | undefined {
    const key = `${run} ${phase}`;
    const previous = this.#outages.get(key);
    const outage =
      previous?.server === server ? previous : { server, tries: 0, sinceMs: nowMs, writtenMs: nowMs };
    this.#outages.set(key, outage);
    outage.tries += 1;
    if (outage.tries > firstTries && nowMs - outage.writtenMs < intervalMs) return undefined;
    outage.writtenMs = nowMs;
    const since = new Date(outage.sinceMs).toISOString();
    return { type: 'model-unavailable', phase, server, reason, tries: outage.tries, since };
  }

  /** The event of the first success after failed tries; undefined if there were none. */
  succeeded({ run, phase }: { run: string; phase: string }, nowMs = Date.now()): RunEvent | undefined {
    const key = `${run} ${phase}`;
    const outage = this.#outages.get(key);
    if (outage === undefined) return undefined;
    this.#outages.delete(key);
    const { server, tries, sinceMs } = outage;
    return { type: 'model-answered', phase, server, tries, seconds: Math.round((nowMs - sinceMs) / 1000) };
  }
}
