import { setTimeout as sleep } from 'node:timers/promises';
import type { TrainerSettings } from '../config/policies.ts';
import { InvalidArtifact } from '../store/errors.ts';
import type { OnDamage } from '../store/errors.ts';
import type { WorkFolder } from '../store/work-folder.ts';
import type { JobExit, JobProgress, JobResult, TrainingJob } from '../types/training-job.ts';
import { InvalidConfig } from '../validation/invalid-config.ts';
import { JobFolder } from './job-folder.ts';
import type { Launcher } from './launchers.ts';

/** Where training jobs run on this worker. */
export interface TrainingBackend {
  launcher: (trainer: TrainerSettings) => Launcher;
  python: string;
  /** Folder for locks on this machine's devices. */
  devices: string;
  /** Whether a training job continues (`detach`) or writes a checkpoint and ends when its worker stops. */
  onShutdown: 'checkpoint' | 'detach';
}

/** The job ended without a result; starting it again goes on from its last step checkpoint. */
export class TrainerFailed extends Error {
  override readonly name = 'TrainerFailed';
}

export interface RunJobOptions {
  work: WorkFolder;
  /** The job but for its claim, which is made here. */
  job: Omit<TrainingJob, 'fence'>;
  launcher: Launcher;
  python: string;
  /** Called for each line of real progress, never by a timer. */
  onProgress: (progress: JobProgress, msSinceLast: number) => void;
  /** Aborted when the activity is cancelled or its worker stops. */
  signal: AbortSignal;
  /** Where the signal means that the job should go on without its worker. */
  detach: () => boolean;
  /** Longest silence of a living job. */
  stallMs: number;
  onDamage: OnDamage;
}

export interface FinishedJob {
  result: JobResult;
  /** What was asked for, or less where that did not fit into memory. */
  tokensPerMicroBatch: number;
}

const pollMs = 20;
const leaseMs = 2_000;
const silenceMs = 1_000;
/** Longest time from a launch until the job holds its lock, on a machine that is busy. */
const startMs = 10_000;
const endMs = 20_000;
const smallestBudget = 256;

/**
 * Runs a training job to its result: attaches to one that is alive, else starts it from its last step
 * checkpoint. Out of memory halves the token budget of a micro-batch and goes on.
 * @throws TrainerFailed (try again), InvalidConfig, InvalidArtifact; the signal's reason when it aborts.
 */
export async function runJob(options: RunJobOptions): Promise<FinishedJob> {
  const folder = new JobFolder(options.work.path, options.python, options.onDamage);
  let budget = options.job.settings.tokens_per_micro_batch;
  for (;;) {
    const finished = await folder.result();
    const before = await folder.job();
    if (finished?.input_hash === options.job.input_hash)
      return { result: finished, tokensPerMicroBatch: before?.settings.tokens_per_micro_batch ?? budget };
    const last = await folder.exit();
    // A job that has written its end still holds its lock, and its memory, until its process is gone.
    if (last) await gone(folder);
    if (before) budget = Math.min(budget, before.settings.tokens_per_micro_batch);
    if (last?.reason === 'out_of_memory') budget = halved(budget);
    const attached = before !== undefined && (await folder.alive());
    const lines = attached ? 0 : await folder.progressLines();
    if (!attached) {
      const { number: fence } = await options.work.claim();
      await folder.writeJob({
        ...options.job,
        fence,
        settings: { ...options.job.settings, tokens_per_micro_batch: budget },
      });
      await folder.touchLease();
      await options.launcher.launch(options.work.path);
    }
    await watch(folder, lines, options);
    const exit = await folder.exit();
    if (exit === undefined)
      throw new TrainerFailed(
        `the trainer of ${options.work.path} died without a word; it goes on from its last step`,
      );
    if (exit.reason === 'out_of_memory') continue;
    if (exit.reason === 'finished' && (await folder.result())?.input_hash === options.job.input_hash)
      continue;
    throw failure(exit, options.work.path);
  }
}

function halved(budget: number): number {
  if (budget <= smallestBudget)
    throw new TrainerFailed(
      `out of memory even with ${budget} tokens a micro-batch; use a smaller model or more memory`,
    );
  return Math.floor(budget / 2);
}

function failure({ reason, message: said, file }: JobExit, path: string): Error {
  const message = said ?? '';
  switch (reason) {
    case 'invalid_config':
      return new InvalidConfig(`trainer: ${message}`);
    case 'invalid_artifact':
      return new InvalidArtifact(file ?? path, message);
    default:
      return new TrainerFailed(`the trainer of ${path} ended (${reason}): ${message}`);
  }
}

/**
 * Returns when the job has ended, whatever its end. The first `lines` of the progress file are of jobs before
 * it.
 */
async function watch(folder: JobFolder, lines: number, options: RunJobOptions): Promise<void> {
  const { signal, stallMs } = options;
  const started = Date.now();
  let seen = lines;
  let lived = false;
  let pid: number | undefined;
  let lastProgress = Date.now();
  let lastLease = 0;
  let lastProbe = Date.now();
  for (;;) {
    if ((await folder.exit()) !== undefined) return;
    if (signal.aborted) {
      if (!options.detach()) await stop(folder, lines);
      throw signal.reason;
    }
    const progress = await folder.progress();
    const now = Date.now();
    if (progress && progress.lines !== seen) {
      options.onProgress(progress.last, now - lastProgress);
      seen = progress.lines;
      pid = progress.last.pid;
      lived = true;
      lastProgress = lastProbe = now;
    }
    if (now - lastLease > leaseMs) {
      await folder.touchLease();
      lastLease = now;
    }
    if (now - lastProbe > silenceMs) {
      lastProbe = now;
      const alive = await folder.alive();
      if (!alive && (lived || now - started > startMs)) return;
      lived ||= alive;
      if (now - lastProgress > stallMs) {
        kill(pid, 'SIGKILL');
        throw new TrainerFailed(
          `the trainer of ${folder.path} made no progress for ${stallMs} ms and was killed; it goes on from its last step`,
        );
      }
    }
    await sleep(pollMs);
  }
}

/** Asks the job to checkpoint and end, as soon as it has said who it is, and waits for it. */
async function stop(folder: JobFolder, lines: number): Promise<void> {
  let asked = false;
  const started = Date.now();
  while (Date.now() - started < endMs && (await folder.exit()) === undefined) {
    const progress = await folder.progress();
    if (!asked && progress && progress.lines > lines) {
      kill(progress.last.pid, 'SIGTERM');
      asked = true;
    }
    if ((asked || Date.now() - started > startMs) && !(await folder.alive())) return;
    await sleep(100);
  }
}

async function gone(folder: JobFolder): Promise<void> {
  const started = Date.now();
  while (Date.now() - started < endMs && (await folder.alive())) await sleep(pollMs);
}

function kill(pid: number | undefined, signal: NodeJS.Signals): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}
