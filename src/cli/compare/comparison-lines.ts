import type { ComparisonProgress } from '../../types/comparison-types.ts';

/** What is done once the runs are. */
const afterwards: Partial<Record<ComparisonProgress['status'], string>> = {
  'cross-play': 'simulators meet agents of other epochs',
  probes: 'gradient signal and ranking are probed',
  summary: 'summing up',
};

/** A comparison's progress as plain lines: one for each run that starts, and one for each that is over. */
export class ComparisonLines {
  readonly #print: (line: string) => void;
  #before: Pick<ComparisonProgress, 'status' | 'done' | 'running' | 'failed'> = {
    status: 'preparing',
    done: 0,
    running: [],
    failed: [],
  };

  constructor(print: (line: string) => void) {
    this.#print = print;
  }

  show(progress: ComparisonProgress): void {
    const { status, runs, done, running, failed } = progress;
    for (const { id, reason } of failed.slice(this.#before.failed.length))
      this.#print(`${id} did not finish: ${reason}`);
    const started = running.filter((id) => !this.#before.running.includes(id));
    if (done !== this.#before.done) this.#print(`${done} of ${runs} runs done`);
    if (started.length > 0) this.#print(`running ${started.join(', ')}`);
    const said = afterwards[status];
    if (status !== this.#before.status && said !== undefined) this.#print(said);
    this.#before = progress;
  }

  end(): void {
    // Lines need no tidying up.
  }
}
