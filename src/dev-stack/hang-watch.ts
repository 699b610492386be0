/** Tells a service that hangs, though its process lives and answers, from one that is slow. */
import { sessionUsage, WorkMeter } from '../training/process-activity.ts';

/** 15 minutes, after those that pass until the service says that it is stuck. */
const defaults = { lookSeconds: 30, maxLooks: 30, readUsage: sessionUsage };

/**
 * A service hangs when it has said at each of many looks in a row that it is stuck, and has used no processor and no
 * storage all that time. One that computes a long request on a busy machine uses some; one that does not answer in
 * time may be short of processor, so its looks begin anew. A policy server that waits uses a third of a percent of a
 * processor; `WorkMeter` takes one percent and more for work. Without `/proc`, which says what it uses, it never hangs.
 */
export class HangWatch {
  readonly #isStuck: () => Promise<boolean>;
  readonly #options: typeof defaults;
  #lookedAt = -Infinity;
  #looks = 0;
  #meter: WorkMeter;

  /** @param isStuck whether the service says so itself; rejects if it does not answer */
  constructor(isStuck: () => Promise<boolean>, options: Partial<typeof defaults> = {}) {
    this.#isStuck = isStuck;
    this.#options = { ...defaults, ...options };
    this.#meter = new WorkMeter(this.#options.readUsage);
  }

  /** Looks at the service if it is time to. @param pid that leads its session @returns whether it hangs */
  async look(pid: number, now = performance.now()): Promise<boolean> {
    const { lookSeconds, maxLooks, readUsage } = this.#options;
    if (now - this.#lookedAt < lookSeconds * 1000) return false;
    this.#lookedAt = now;
    const isStuck = await this.#isStuck().catch(() => false);
    if (!isStuck || (await readUsage(pid)) === undefined) {
      this.reset();
      return false;
    }
    if (await this.#meter.hasWorked(pid, now)) this.#looks = 0;
    this.#looks += 1;
    return this.#looks > maxLooks;
  }

  /** Begins anew: another process is looked at. */
  reset(): void {
    this.#looks = 0;
    this.#meter = new WorkMeter(this.#options.readUsage);
  }
}
