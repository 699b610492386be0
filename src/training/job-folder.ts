import { execFile } from 'node:child_process';
import { readFile, rm, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { atomicWrite } from '../store/atomic-write.ts';
import { ifExists } from '../store/errors.ts';
import { exitSchema, progressSchema, resultSchema } from '../contracts/training-job.ts';
import type { JobExit, JobProgress, JobResult, TrainingJob } from '../contracts/training-job.ts';

const tryLock = 'import fcntl, sys; fcntl.flock(open(sys.argv[1]), fcntl.LOCK_EX | fcntl.LOCK_NB)';

/** The files of one job (docs/training-jobs.md), seen from the worker. */
export class JobFolder {
  readonly path: string;
  readonly #python: string;

  constructor(path: string, python: string) {
    this.path = path;
    this.#python = python;
  }

  async job(): Promise<TrainingJob | undefined> {
    return (await this.#json('job.json')) as TrainingJob | undefined;
  }

  async writeJob(job: TrainingJob): Promise<void> {
    await rm(join(this.path, 'exit.json'), { force: true });
    await atomicWrite(join(this.path, 'job.json'), `${JSON.stringify(job, null, 1)}\n`);
  }

  async result(): Promise<JobResult | undefined> {
    const result = await this.#json('result.json');
    return result === undefined ? undefined : resultSchema.parse(result);
  }

  async exit(): Promise<JobExit | undefined> {
    const exit = await this.#json('exit.json');
    return exit === undefined ? undefined : exitSchema.parse(exit);
  }

  /** Whole lines of the progress file so far, those of earlier jobs in this folder included. */
  async progressLines(): Promise<number> {
    return (await this.#progressFile()).length;
  }

  /** The newest whole line of the progress file. */
  async progress(): Promise<{ lines: number; last: JobProgress } | undefined> {
    const lines = await this.#progressFile();
    const parsed = progressSchema.safeParse(lines.length > 0 ? JSON.parse(lines.at(-1)!) : undefined);
    return parsed.success ? { lines: lines.length, last: parsed.data } : undefined;
  }

  /** A job lives as long as it holds the lock: a process id says nothing, it may be another's by now. */
  async alive(): Promise<boolean> {
    const lock = join(this.path, 'lock');
    if ((await ifExists(readFile(lock))) === undefined) return false;
    return new Promise((resolve) => execFile(this.#python, ['-c', tryLock, lock], (error) => resolve(error !== null)));
  }

  /** Tells the job that somebody still waits for it. */
  async touchLease(): Promise<void> {
    const lease = join(this.path, 'lease');
    const now = new Date();
    if ((await ifExists(utimes(lease, now, now).then(() => true))) === undefined) await writeFile(lease, '');
  }

  async #progressFile(): Promise<string[]> {
    const text = await ifExists(readFile(join(this.path, 'progress.jsonl'), 'utf8'));
    return (text ?? '').split('\n').slice(0, -1);
  }

  async #json(name: string): Promise<unknown> {
    const text = await ifExists(readFile(join(this.path, name), 'utf8'));
    return text === undefined ? undefined : JSON.parse(text);
  }
}
