import { linkSync, mkdirSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { progressSchema } from '../../src/types/training-job.ts';
import type { JobProgress } from '../../src/types/training-job.ts';

const pollMs = 20;

/**
 * Keeps the progress files of a run's training jobs: their folders go when the job's result is recorded, but
 * a second name of a file keeps what is written to it.
 */
export class JobWatch {
  readonly #work: string;
  readonly #kept: string;
  readonly #timer: NodeJS.Timeout;
  readonly #files = new Map<string, { job: string; file: string; size: number }>();
  /** When steps were made. */
  readonly signs: number[] = [];

  constructor(store: string, run: string, kept: string) {
    this.#work = join(store, 'work', run);
    this.#kept = kept;
    mkdirSync(kept, { recursive: true });
    this.#timer = setInterval(() => this.#look(), pollMs);
  }

  stop(): void {
    clearInterval(this.#timer);
    this.#look();
  }

  /** The process of the job whose folder's name begins so; undefined before it has said so. */
  pid(job: string): number | undefined {
    for (const { job: name, file } of this.#files.values()) {
      const line = name.startsWith(job)
        ? readFileSync(file, 'utf8').split('\n').slice(0, -1).at(-1)
        : undefined;
      const pid = line === undefined ? undefined : parse(line)?.pid;
      if (pid !== undefined) return pid;
    }
    return undefined;
  }

  /** Steps that were made again, each as `JOB: step 1 by 10, 11`: by which processes, in their order. */
  get repeated(): string[] {
    const steps = Map.groupBy(this.#steps(), ({ job, step }) => `${job}: step ${step}`);
    return [...steps].flatMap(([step, made]) =>
      made.slice(1).map(() => `${step} by ${made.map(({ pid }) => pid).join(', ')}`),
    );
  }

  /** Times that a process wrote a step into a folder which another one had written to since. */
  get twoWriters(): number {
    const files = Map.groupBy(this.#steps(), ({ file }) => file);
    return [...files.values()].reduce(
      (sum, steps) =>
        sum +
        steps.filter(
          ({ pid }, at) =>
            at > 0 && steps[at - 1]!.pid !== pid && steps.slice(0, at).some((earlier) => earlier.pid === pid),
        ).length,
      0,
    );
  }

  #steps(): { job: string; file: string; step: number; pid: number }[] {
    return [...this.#files.values()].flatMap(({ job, file }) =>
      readFileSync(file, 'utf8')
        .split('\n')
        .slice(0, -1)
        .flatMap((line) => {
          const read = parse(line);
          return read?.phase === 'step' ? [{ job, file, step: read.step, pid: read.pid }] : [];
        }),
    );
  }

  #look(): void {
    for (const job of list(this.#work)) {
      const file = join(this.#work, job, 'progress.jsonl');
      try {
        const { ino } = statSync(file);
        const watched = this.#files.get(`${job}/${ino}`);
        if (watched === undefined) {
          const kept = join(this.#kept, `${job}-${ino}.jsonl`);
          linkSync(file, kept);
          this.#files.set(`${job}/${ino}`, { job, file: kept, size: 0 });
        }
      } catch {
        // The job has not begun, or is over and kept.
      }
    }
    for (const kept of this.#files.values()) {
      const { size } = statSync(kept.file);
      if (size > kept.size) this.signs.push(Date.now());
      kept.size = size;
    }
  }
}

/** A line that a fault has damaged is none. */
function parse(line: string): JobProgress | undefined {
  try {
    return progressSchema.safeParse(JSON.parse(line)).data;
  } catch {
    return undefined;
  }
}

const list = (folder: string): string[] => {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
};
