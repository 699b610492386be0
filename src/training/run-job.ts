import { setTimeout as sleep } from 'node:timers/promises';
import type { TrainerSettings } from '../config/policies.ts';
import type { Python } from '../processes/python.ts';
import type { ProcessIdentity } from '../runtime/process-identity.ts';
import { InvalidArtifact } from '../store/errors.ts';
import type { OnDamage } from '../store/errors.ts';
import type { WorkFolder } from '../store/work-folder.ts';
import type { JobExit, JobKind, JobProgress, JobResult, TrainingJob } from '../types/training-job.ts';
import { InvalidConfig } from '../validation/invalid-config.ts';
import { JobFolder } from './job-folder.ts';
import { launchedProcess, signalJob, writerOf } from './job-process.ts';
import type { Launcher } from './launchers.ts';
import { WorkMeter } from './process-activity.ts';

/** Where training jobs run on this worker. */
export interface TrainingBackend {
  launcher: (trainer: TrainerSettings) => Launcher;
  python: Python;
  /** Folder for locks on this machine's devices. */
  devices: string;
  /** Whether a training job continues (`detach`) or writes a checkpoint and ends when its worker stops. */
  onShutdown: 'checkpoint' | 'detach';
  /** Called for progress of the jobs that this worker watches, and when one has ended. */
  onTraining?: (report: TrainingReport) => void;
  /** The W3C `traceparent` that a job started here continues; undefined = it is not traced. */
  traceParent?: () => string | undefined;
}

export interface TrainingReport {
  kind: JobKind;
  /** Optimizer steps since the last report; those of an earlier attempt that are done again do not count. */
  newSteps: number;
  /** What the job has allocated on its GPU at most; 0 without a GPU, or once it has ended. */
  gpuMemoryBytes: number;
}

/** The job ended without a result; a new start resumes it from its last step checkpoint. */
export class TrainerFailed extends Error {
  override readonly name = 'TrainerFailed';
}

export interface RunJobOptions {
  work: WorkFolder;
  /** The job without its fencing token, which `runJob` takes. */
  job: Omit<TrainingJob, 'fence'>;
  launcher: Launcher;
  python: Python;
  /** Called for each line of real progress, never by a timer, with the steps that are new since the last one. */
  onProgress: (progress: JobProgress, msSinceLast: number, newSteps: number) => void;
  /** Aborted when the activity is cancelled or its worker stops. */
  signal: AbortSignal;
  /** When the signal is aborted: whether the job continues without its worker. */
  detach: () => boolean;
  /** Called when a job that says nothing is seen to work, and how long it has said nothing. */
  onWork?: (msSinceProgress: number) => void;
  /** Limit of the time that a living job neither reports progress nor uses a processor. */
  stallMs: number;
  onDamage: OnDamage;
  traceParent?: string | undefined;
}

export interface FinishedJob {
  result: JobResult;
  /** The job's setting, or less if that did not fit into memory. */
  tokensPerMicroBatch: number;
}

const pollMs = 20;
/** A job is looked at after a fiftieth of the time that it has taken so far: its files are read each time. */
const longestPollMs = 500;
const leaseMs = 2_000;
/** Time without progress after which the job's lock is tested. */
const probeMs = 1_000;
/** Limit of the time that a launched job does nothing before it holds its lock. */
const maxStartMs = 10_000;
/** Limit of the time that a job takes to end. */
const maxEndMs = 20_000;
const minTokenBudget = 256;

/**
 * Runs a training job to its result: attaches to one that is alive, else starts it from its last step
 * checkpoint. Out of memory halves the token budget of a micro-batch and continues.
 * @throws TrainerFailed (try again), InvalidConfig, InvalidArtifact; the signal's reason when it aborts.
 */
export async function runJob(options: RunJobOptions): Promise<FinishedJob> {
  const { work, job, launcher } = options;
  const folder = new JobFolder(work.path, options.python, options.onDamage);
  let tokenBudget = job.settings.tokens_per_micro_batch;
  for (;;) {
    const result = await folder.result();
    const previous = await folder.job();
    if (result?.input_hash === job.input_hash)
      return { result, tokensPerMicroBatch: previous?.settings.tokens_per_micro_batch ?? tokenBudget };
    const previousExit = await folder.exit();
    // A job that has written its exit still holds its lock, and its memory, until its process is gone.
    if (previousExit) await waitUntilGone(folder);
    if (previous) tokenBudget = Math.min(tokenBudget, previous.settings.tokens_per_micro_batch);
    if (previousExit?.reason === 'out_of_memory') tokenBudget = halve(tokenBudget);
    const isAttached = previous !== undefined && (await folder.isAlive());
    const linesBefore = isAttached ? 0 : await folder.progressLines();
    const stepsBefore = (await folder.progress())?.last.step ?? 0;
    let launched: ProcessIdentity | undefined;
    if (!isAttached) {
      const { number: fence } = await work.claim();
      const settings = { ...job.settings, tokens_per_micro_batch: tokenBudget };
      await folder.writeJob({ ...job, fence, settings });
      await folder.writeTraceParent(options.traceParent);
      await folder.touchLease();
      launched = launchedProcess(await launcher.launch(work.path));
    }
    await watch(folder, { linesBefore, stepsBefore, launched }, options);
    const exit = await folder.exit();
    if (exit === undefined)
      throw new TrainerFailed(
        `the trainer of ${work.path} died without a word; it continues from its last step`,
      );
    const isFinished = exit.reason === 'finished' && (await folder.result())?.input_hash === job.input_hash;
    if (!isFinished && exit.reason !== 'out_of_memory') throw failure(exit, work.path);
  }
}

function halve(tokenBudget: number): number {
  if (tokenBudget <= minTokenBudget)
    throw new TrainerFailed(
      `out of memory even with ${tokenBudget} tokens a micro-batch; use a smaller model or more memory`,
    );
  return Math.floor(tokenBudget / 2);
}

function failure({ reason, file, ...exit }: JobExit, path: string): Error {
  const message = exit.message ?? '';
  switch (reason) {
    case 'invalid_config':
      return new InvalidConfig(`trainer: ${message}`);
    case 'invalid_artifact':
      return new InvalidArtifact(file ?? path, message);
    default:
      return new TrainerFailed(`the trainer of ${path} ended (${reason}): ${message}`);
  }
}

interface JobStart {
  /** Lines of the progress file that earlier jobs wrote. */
  linesBefore: number;
  /** Optimizer steps of its newest line then. */
  stepsBefore: number;
  /** The job's process, which leads a session, if this attempt started it on this host. */
  launched: ProcessIdentity | undefined;
}

/** Returns when the job has ended, for whatever reason. */
async function watch(
  folder: JobFolder,
  { linesBefore, stepsBefore, launched }: JobStart,
  options: RunJobOptions,
): Promise<void> {
  const { signal, stallMs } = options;
  const meter = new WorkMeter();
  let job = launched;
  let linesSeen = linesBefore;
  let stepsSeen = stepsBefore;
  let wasAlive = false;
  const begun = Date.now();
  let lastProgress = begun;
  // A line of progress, or processor time that advances: a busy machine may give a job little of it.
  let lastLife = Date.now();
  let lastLease = 0;
  let lastProbe = Date.now();
  for (;;) {
    const hasEnded = (await folder.exit()) !== undefined;
    if (signal.aborted && !hasEnded) {
      if (!options.detach()) await stop(folder, { linesBefore, launched });
      throw signal.reason;
    }
    const progress = await folder.progress();
    const now = Date.now();
    if (progress && progress.lines !== linesSeen) {
      options.onProgress(progress.last, now - lastProgress, Math.max(0, progress.last.step - stepsSeen));
      linesSeen = progress.lines;
      stepsSeen = Math.max(stepsSeen, progress.last.step);
      job = launched ?? (await writerOf(progress.last, folder.lock));
      wasAlive = true;
      lastProgress = now;
      lastLife = now;
      lastProbe = now;
    }
    if (hasEnded) return;
    if (now - lastLease > leaseMs) {
      await folder.touchLease();
      lastLease = now;
    }
    if (now - lastProbe > probeMs) {
      lastProbe = now;
      if (job !== undefined && (await meter.hasWorked(job.pid, now))) {
        lastLife = now;
        options.onWork?.(now - lastProgress);
      }
      const isAlive = await folder.isAlive();
      if (!isAlive && (wasAlive || now - lastLife > maxStartMs)) return;
      wasAlive ||= isAlive;
      if (now - lastLife > stallMs) {
        const end = signalJob(job, 'SIGKILL') ? 'was killed' : 'could not be ended from this host';
        throw new TrainerFailed(
          `the trainer of ${folder.path} made no progress for ${now - lastProgress} ms, used no processor ` +
            `for ${now - lastLife} ms and ${end}; it continues from its last step`,
        );
      }
    }
    await sleep(Math.min(longestPollMs, Math.max(pollMs, (now - begun) / 50)));
  }
}

/** Tells the job to checkpoint and end, once its progress names its process, and waits for its end. */
async function stop(
  folder: JobFolder,
  { linesBefore, launched }: Omit<JobStart, 'stepsBefore'>,
): Promise<void> {
  let isTold = false;
  const started = Date.now();
  while (Date.now() - started < maxEndMs && (await folder.exit()) === undefined) {
    const progress = await folder.progress();
    if (!isTold && progress && progress.lines > linesBefore) {
      // A job of another host, or of a system that does not tell who it is, ends by its lease.
      if (!signalJob(launched ?? (await writerOf(progress.last, folder.lock)), 'SIGTERM')) return;
      isTold = true;
    }
    const mayBeDead = isTold || Date.now() - started > maxStartMs;
    if (mayBeDead && !(await folder.isAlive())) return;
    await sleep(100);
  }
}

async function waitUntilGone(folder: JobFolder): Promise<void> {
  const started = Date.now();
  while (Date.now() - started < maxEndMs && (await folder.isAlive())) await sleep(pollMs);
}
