import type { ModelOutage } from '../../types/outage-types.ts';
import { outageText } from '../../workflows/outage-text.ts';
import { durationText } from './text.ts';

/** Shorter outages are not worth a line. */
const minShownMs = 2_000;
const repeatMs = 10 * 60_000;
const minIntervalMs = 60_000;

/** A wait for a model server as plain lines: when it begins, every ten minutes, and when it ends. */
export class OutageLines {
  readonly #print: (line: string) => void;
  #printed: ModelOutage | undefined;
  #printedAt = 0;

  constructor(print: (line: string) => void) {
    this.#print = print;
  }

  show(outage: ModelOutage | null, now = new Date()): void {
    if (outage !== null) this.#showWait(outage, now);
    else if (this.#printed !== undefined) {
      const { server, since } = this.#printed;
      this.#print(
        `no longer waiting for ${server}, after ${durationText((now.getTime() - Date.parse(since)) / 1000)}`,
      );
      this.#printed = undefined;
    }
  }

  #showWait(outage: ModelOutage, now: Date): void {
    const printed = this.#printed;
    const isNew = printed?.server !== outage.server || printed.since !== outage.since;
    const quietMs = printed?.reason === outage.reason ? repeatMs : minIntervalMs;
    if (isNew && now.getTime() - Date.parse(outage.since) < minShownMs) return;
    if (!isNew && now.getTime() - this.#printedAt < quietMs) return;
    this.#print(outageText(outage, now));
    this.#printed = outage;
    this.#printedAt = now.getTime();
  }
}
