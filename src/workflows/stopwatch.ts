import type { PhaseRunner } from './epoch-phases.ts';

/** Seconds by phase, on the workflow's own clock, which replays to the same values. */
export class Stopwatch {
  readonly seconds: Record<string, number> = {};
  phase = 'starting';
  readonly #begun = Date.now();

  async time<T>(phase: string, work: () => Promise<T>): Promise<T> {
    this.phase = phase;
    const begun = Date.now();
    const result = await work();
    this.seconds[phase] = (Date.now() - begun) / 1000;
    return result;
  }

  /** The phases' seconds so far, and those since the start. */
  total(): Record<string, number> {
    return { ...this.seconds, epoch: (Date.now() - this.#begun) / 1000 };
  }

  /** Phases that take their time, each begun when `before` lets it. */
  runner(before: () => Promise<void> = () => Promise.resolve()): PhaseRunner {
    return {
      inPhase: async (phase, work) => {
        await before();
        return this.time(phase, work);
      },
      seconds: () => this.total(),
    };
  }
}
