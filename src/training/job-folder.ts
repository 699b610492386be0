import { execFile } from 'node:child_process';
import { readFile, rm, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { atomicWrite } from '../store/atomic-write.ts';
import { sha256 } from '../store/canonical-json.ts';
import { undefinedIfMissing } from '../store/errors.ts';
import type { OnDamage } from '../store/errors.ts';
import { exitSchema, progressSchema, resultSchema } from '../types/training-job.ts';
import type { JobExit, JobProgress, JobResult, TrainingJob } from '../types/training-job.ts';

const tryLock = 'import fcntl, sys; fcntl.flock(open(sys.argv[1]), fcntl.LOCK_EX | fcntl.LOCK_NB)';

/** The files of one job (docs/training-jobs.md), seen from the worker. */
export class JobFolder {
  readonly path: string;
  readonly #python: string;
  readonly #onDamage: OnDamage;
  readonly #said = new Set<string>();

  constructor(path: string, python: string, onDamage: OnDamage) {
    this.path = path;
    this.#python = python;
    this.#onDamage = onDamage;
  }

  async job(): Promise<TrainingJob | undefined> {
    return (await this.#sealed('job.json')) as TrainingJob | undefined;
  }

  async writeJob(job: TrainingJob): Promise<void> {
    await rm(join(this.path, 'exit.json'), { force: true });
    await atomicWrite(join(this.path, 'job.json'), seal(job));
  }

  async result(): Promise<JobResult | undefined> {
    const result = await this.#sealed('result.json');
    return result === undefined ? undefined : resultSchema.parse(result);
  }

  async exit(): Promise<JobExit | undefined> {
    const exit = await this.#sealed('exit.json');
    return exit === undefined ? undefined : exitSchema.parse(exit);
  }

  /** Whole lines of the progress file so far, those of earlier jobs in this folder included. */
  async progressLines(): Promise<number> {
    return (await this.#progressFile()).length;
  }

  /** The newest whole line of the progress file; damaged ones are passed over. */
  async progress(): Promise<{ lines: number; last: JobProgress } | undefined> {
    const lines = await this.#progressFile();
    for (let count = lines.length; count > 0; count -= 1) {
      const last = parseProgress(lines[count - 1]!);
      if (last !== undefined) return { lines: count, last };
      this.#say('progress.jsonl', `line ${count} is damaged; it is passed over`);
    }
    return undefined;
  }

  /** Forgets a finished job's result and output: the next start goes on from the newest step checkpoint. */
  async discardOutput(): Promise<void> {
    await rm(join(this.path, 'result.json'), { force: true });
    await rm(join(this.path, 'output'), { recursive: true, force: true });
  }

  /** A job lives as long as it holds the lock: a process id says nothing, it may be another's by now. */
  async alive(): Promise<boolean> {
    const lock = join(this.path, 'lock');
    if ((await undefinedIfMissing(readFile(lock))) === undefined) return false;
    return new Promise((resolve) =>
      execFile(this.#python, ['-c', tryLock, lock], (error) => resolve(error !== null)),
    );
  }

  /** Tells the job that somebody still waits for it. */
  async touchLease(): Promise<void> {
    const lease = join(this.path, 'lease');
    const now = new Date();
    if ((await undefinedIfMissing(utimes(lease, now, now).then(() => true))) === undefined)
      await writeFile(lease, '');
  }

  async #progressFile(): Promise<string[]> {
    const text = await undefinedIfMissing(readFile(join(this.path, 'progress.jsonl'), 'utf8'));
    return (text ?? '').split('\n').slice(0, -1);
  }

  /** A damaged file is none, and is said. */
  async #sealed(name: string): Promise<unknown> {
    const text = await undefinedIfMissing(readFile(join(this.path, name), 'utf8'));
    const value = text === undefined ? undefined : unseal(text);
    if (text !== undefined && value === undefined)
      this.#say(name, 'it is torn or altered, and taken for none');
    return value;
  }

  #say(name: string, problem: string): void {
    if (this.#said.has(name + problem)) return;
    this.#said.add(name + problem);
    this.#onDamage({ file: join(this.path, name), problem });
  }
}

function parseProgress(line: string): JobProgress | undefined {
  try {
    return progressSchema.safeParse(JSON.parse(line)).data;
  } catch {
    return undefined;
  }
}

const mark = ',\n "sha256": "';
const tailOf = (head: string): string => `${mark}${sha256(head)}"\n}\n`;

/**
 * JSON text of an object that carries its own hash: the last field, `sha256`, is that of all text before it.
 */
export function seal(value: object): string {
  const head = JSON.stringify(value, null, 1).slice(0, -'\n}'.length);
  return head + tailOf(head);
}

/** The object without its seal; undefined where the text is torn or altered. */
export function unseal(text: string): unknown {
  const head = text.slice(0, Math.max(0, text.lastIndexOf(mark)));
  return text === head + tailOf(head) ? JSON.parse(`${head}\n}`) : undefined;
}
