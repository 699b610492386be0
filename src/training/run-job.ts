import { setTimeout as sleep } from 'node:timers/promises';
import type { JobProgress, JobResult, TrainingJob } from '../contracts/training-job.ts';
import { InvalidConfig } from '../contracts/invalid-config.ts';
import { InvalidArtifact } from '../store/errors.ts';
import type { WorkFolder } from '../store/work-folder.ts';
import { JobFolder } from './job-folder.ts';
import type { Launcher } from './launcher.ts';

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
  onProgress(progress: JobProgress, msSinceLast: number): void;
  /** Aborted when the activity is cancelled or its worker stops. */
  signal: AbortSignal;
  /** Where the signal means that the job should go on without its worker. */
  detach(): boolean;
  /** Longest silence of a living job. */
  stallMs: number;
}

const pollMs = 20;
const leaseMs = 2_000;
const silenceMs = 1_000;
const smallestBudget = 256;

/**
 * Runs a training job to its result: attaches to one that is alive, else starts it from its last step checkpoint.
 * Out of memory halves the token budget of a micro-batch and goes on.
 * @throws TrainerFailed (try again), InvalidConfig, InvalidArtifact; the signal's reason when it aborts.
 */
export async function runJob(options: RunJobOptions): Promise<JobResult> {
  const folder = new JobFolder(options.work.path, options.python);
  let budget = options.job.settings.tokens_per_micro_batch;
  for (;;) {
    const finished = await folder.result();
    if (finished?.input_hash === options.job.input_hash) return finished;
    const before = await folder.job();
    if (before) budget = Math.min(budget, before.settings.tokens_per_micro_batch);
    if ((await folder.exit())?.reason === 'out_of_memory') budget = halved(budget);
    if (before === undefined || !(await folder.alive())) {
      const { number: fence } = await options.work.claim();
      await folder.writeJob({ ...options.job, fence, settings: { ...options.job.settings, tokens_per_micro_batch: budget } });
      await folder.touchLease();
      await options.launcher.launch(options.work.path);
    }
    await watch(folder, options);
    const exit = await folder.exit();
    if (exit === undefined) throw new TrainerFailed(`the trainer of ${options.work.path} died without a word; it goes on from its last step`);
    if (exit.reason === 'finished' || exit.reason === 'out_of_memory') continue;
    throw failure(exit.reason, exit.message ?? '', options.work.path);
  }
}

function halved(budget: number): number {
  if (budget <= smallestBudget) throw new TrainerFailed(`out of memory even with ${budget} tokens a micro-batch; use a smaller model or more memory`);
  return Math.floor(budget / 2);
}

function failure(reason: string, message: string, path: string): Error {
  switch (reason) {
    case 'invalid_config':
      return new InvalidConfig(`trainer: ${message}`);
    case 'invalid_artifact':
      return new InvalidArtifact(path, message);
    default:
      return new TrainerFailed(`the trainer of ${path} ended (${reason}): ${message}`);
  }
}

/** Returns when the job has ended, whatever its end. */
async function watch(folder: JobFolder, { onProgress, signal, detach, stallMs }: RunJobOptions): Promise<void> {
  let seen = 0;
  let pid: number | undefined;
  let lastProgress = Date.now();
  let lastLease = 0;
  let lastProbe = Date.now();
  for (;;) {
    if ((await folder.exit()) !== undefined) return;
    if (signal.aborted) {
      if (!detach()) await stop(folder, pid);
      throw signal.reason;
    }
    const progress = await folder.progress();
    const now = Date.now();
    if (progress && progress.lines !== seen) {
      onProgress(progress.last, now - lastProgress);
      seen = progress.lines;
      pid = progress.last.pid;
      lastProgress = lastProbe = now;
    }
    if (now - lastLease > leaseMs) {
      await folder.touchLease();
      lastLease = now;
    }
    if (now - lastProbe > silenceMs) {
      lastProbe = now;
      if (!(await folder.alive())) return;
      if (now - lastProgress > stallMs) {
        kill(pid, 'SIGKILL');
        throw new TrainerFailed(`the trainer of ${folder.path} made no progress for ${stallMs} ms and was killed; it goes on from its last step`);
      }
    }
    await sleep(pollMs);
  }
}

/** Asks the job to checkpoint and end, and waits for it. */
async function stop(folder: JobFolder, pid: number | undefined): Promise<void> {
  kill(pid ?? (await folder.progress())?.last.pid, 'SIGTERM');
  for (let waited = 0; waited < 20_000 && (await folder.exit()) === undefined && (await folder.alive()); waited += 100) await sleep(100);
}

function kill(pid: number | undefined, signal: NodeJS.Signals): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}
