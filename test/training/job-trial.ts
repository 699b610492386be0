import type { ChildProcess } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { Python } from '../../src/processes/python.ts';
import type { Damage } from '../../src/store/errors.ts';
import { openWork } from '../../src/store/work-folder.ts';
import type { WorkFolder } from '../../src/store/work-folder.ts';
import { LocalLauncher } from '../../src/training/local-launcher.ts';
import { runJob } from '../../src/training/run-job.ts';
import type { RunJobOptions } from '../../src/training/run-job.ts';
import type { JobProgress, TrainingJob } from '../../src/types/training-job.ts';
import { someKey } from '../store/some-key.ts';
import { temporaryFolder } from '../store/temporary-folder.ts';

export const python = new Python('python3', process.env);
/** A training job that does what `script.json` says. */
export const scriptFile = new URL('jobs/job.py', import.meta.url).pathname;

export interface Trial {
  /** Hash of its inputs. */
  key: string;
  work: WorkFolder;
  progress: JobProgress[];
  damages: Damage[];
  /** Processes that were launched. */
  pids: number[];
  /** Starts of the job's process: its claim and token budget. */
  starts(): Promise<{ fence: number; budget: number }[]>;
  file(name: string): Promise<string | undefined>;
  write(name: string, text: string): Promise<void>;
  run(options?: Partial<RunJobOptions>): ReturnType<typeof runJob>;
}

/** A work folder whose job does what the script says. */
export async function trial(
  script: {
    fits?: number;
    dies?: boolean;
    ends?: string;
    message?: string;
    linger?: number;
    waits_for?: string;
    says_waiting?: boolean;
    computes?: number;
    sleeps?: number;
    before_lock?: boolean;
    /** Fields of its lines of progress, instead of its own; null leaves one out. */
    claims?: Record<string, unknown>;
  } = {},
): Promise<Trial> {
  const work = await openWork(await temporaryFolder(), someKey());
  // Jobs of one cluster have names of their own.
  const key = randomBytes(32).toString('hex');
  const progress: JobProgress[] = [];
  const damages: Damage[] = [];
  const children: ChildProcess[] = [];
  onTestFinished(() => {
    for (const child of children) child.kill('SIGKILL');
  });
  const createLauncher = () =>
    new LocalLauncher('process', python, ({ folder }) => {
      const child = python.spawn([scriptFile, folder], { detached: true, stdio: 'ignore' });
      children.push(child);
      return Promise.resolve(child.pid);
    });
  const job = {
    format: 1,
    kind: 'grpo',
    input_hash: key,
    settings: { tokens_per_micro_batch: 4096 },
  } as Omit<TrainingJob, 'fence'>;
  const file = (name: string) => readFile(join(work.path, name), 'utf8').catch(() => undefined);
  const write = (name: string, text: string) => writeFile(join(work.path, name), text);
  await write('script.json', JSON.stringify(script));
  return {
    key,
    work,
    progress,
    damages,
    get pids() {
      return children.map(({ pid }) => pid!);
    },
    starts: async () =>
      ((await file('starts.jsonl')) ?? '')
        .split('\n')
        .slice(0, -1)
        .map((line) => JSON.parse(line) as { fence: number; budget: number }),
    file,
    write,
    run: (options = {}) =>
      runJob({
        work,
        job,
        launcher: createLauncher(),
        python,
        onProgress: (line) => progress.push(line),
        signal: new AbortController().signal,
        detach: () => false,
        stallMs: 30_000,
        onDamage: (damage) => damages.push(damage),
        ...options,
      }),
  };
}

export const failureOf = (running: Promise<unknown>): Promise<unknown> =>
  running.then(
    () => 'finished',
    (error: unknown) => error,
  );
