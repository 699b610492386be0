import { setTimeout as sleep } from 'node:timers/promises';
import type { TrainerSettings } from '../config/policies.ts';
import type { Python } from '../processes/python.ts';
import { InvalidArtifact } from '../store/errors.ts';
import type { OnTransferred } from '../store/bucket-transfers.ts';
import type { OnDamage } from '../store/errors.ts';
import type { WorkFolder } from '../store/work-folder.ts';
import type { JobExit, JobKind, JobResult, TrainingJob } from '../types/training-job.ts';
import { InvalidConfig } from '../validation/invalid-config.ts';
import { JobFolder } from './job-folder.ts';
import { outageOf, plannedHandle } from './launcher.ts';
import type { JobHandle, Launcher } from './launcher.ts';
import { QueueWait } from './queue-wait.ts';
import { SharedCheckpoints } from './shared-checkpoints.ts';
import { maxEndMs, TrainerFailed, watchJob } from './watch-job.ts';
import type { WatchedJob, WatchOptions } from './watch-job.ts';

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

export interface RunJobOptions extends WatchOptions {
  work: WorkFolder;
  /** The job without its fencing token, which `runJob` takes. */
  job: Omit<TrainingJob, 'fence'>;
  launcher: Launcher;
  python: Python;
  /** Records the wait of a job in the queue of its back end, once it is over. */
  onWaited?: (seconds: number, handle: JobHandle) => Promise<void>;
  onDamage: OnDamage;
  /** Called while a step checkpoint is fetched from the bucket. */
  onTransferred?: OnTransferred;
  traceParent?: string | undefined;
}

export interface FinishedJob {
  result: JobResult;
  /** The job's setting, or less if that did not fit into memory. */
  tokensPerMicroBatch: number;
}

const minTokenBudget = 256;

/**
 * Runs a training job to its result: attaches to one that lives, else submits it, which resumes from its last step
 * checkpoint. Out of memory halves the token budget of a micro-batch and continues; so does a job that its back
 * end has pre-empted after at least one step, or at its first end of this kind.
 * @throws TrainerFailed (try again), InvalidConfig, InvalidArtifact; ModelUnavailable for a back end that does
 * not answer; the signal's reason when it aborts.
 */
export async function runJob(options: RunJobOptions): Promise<FinishedJob> {
  const { work, job, launcher } = options;
  const folder = new JobFolder(work.path, options.python, options.onDamage);
  const checkpoints = new SharedCheckpoints(work.path, options.onDamage);
  let tokenBudget = job.settings.tokens_per_micro_batch;
  let stepsAtPreemption = -1;
  for (;;) {
    // Before the result, which is written first: a job that ends in between is not taken for one without.
    const previousExit = await folder.exit();
    const result = await folder.result();
    const previous = await folder.job();
    const earlier = await earlierLaunch(folder, previous, job.input_hash, launcher);
    const queueOf = (handle: JobHandle): QueueWait =>
      new QueueWait(folder, handle, launcher, async (seconds) => options.onWaited?.(seconds, handle));
    if (result?.input_hash === job.input_hash) {
      if (earlier) await queueOf(earlier).end();
      return { result, tokensPerMicroBatch: previous?.settings.tokens_per_micro_batch ?? tokenBudget };
    }
    if (previous) tokenBudget = Math.min(tokenBudget, previous.settings.tokens_per_micro_batch);
    if (previousExit?.reason === 'out_of_memory') tokenBudget = halve(tokenBudget);
    // A job that has written its exit still holds its lock, and its memory, until its process is gone. One that takes
    // too long to go, or that its queue would start again, is fenced by the next claim.
    if (earlier && previousExit) await untilGone(launcher, earlier, options.signal);
    const isLiving =
      previous && earlier && !previousExit && (await launcher.state(earlier)).state !== 'ended';
    const attached = isLiving ? earlier : undefined;
    // It may have ended since its result was looked for.
    if (!attached && !previousExit && (await folder.exit())) continue;
    if (!attached) await checkpoints.fetch(options.onTransferred);
    const linesBefore = attached ? 0 : await folder.progressLines();
    const stepsBefore = (await folder.progress())?.last.step ?? 0;
    const handle = attached ?? (await submit(folder, options, tokenBudget));
    const watched: WatchedJob = {
      ...{ folder, launcher, handle, checkpoints, queue: queueOf(handle) },
      ...{ linesBefore, stepsBefore },
    };
    const reason = await watchJob(watched, options);
    const exit = await folder.exit();
    if (exit === undefined)
      throw new TrainerFailed(
        `the trainer of ${work.path} died without a word (${launcher.describe(handle)}` +
          `${reason === undefined ? '' : `, ${reason}`}); it continues from its last step`,
      );
    const isFinished = exit.reason === 'finished' && (await folder.result())?.input_hash === job.input_hash;
    if (isFinished || exit.reason === 'out_of_memory') continue;
    const steps = (await folder.progress())?.last.step ?? 0;
    if (!launcher.preempts || exit.reason !== 'terminated' || steps <= stepsAtPreemption)
      throw failure(exit, work.path);
    options.signal.throwIfAborted();
    stepsAtPreemption = steps;
  }
}

/**
 * The job that was last submitted in this folder. One that was started before handles were written, or whose
 * handle is damaged, is looked for by its claim.
 */
async function earlierLaunch(
  folder: JobFolder,
  job: TrainingJob | undefined,
  key: string,
  { type }: Launcher,
): Promise<JobHandle | undefined> {
  const launch = await folder.launch();
  if (launch?.type === type && launch.key === key && launch.fence === (job?.fence ?? launch.fence))
    return launch;
  return job && plannedHandle(type, { key, fence: job.fence, folder: folder.path });
}

/** Writes the job under a new claim, and submits it. Its handle is on disk before, and again with its id after. */
async function submit(folder: JobFolder, options: RunJobOptions, tokenBudget: number): Promise<JobHandle> {
  const { work, job, launcher } = options;
  const { number: fence } = await work.claim();
  const submission = { key: job.input_hash, fence, folder: work.path };
  await folder.writeLaunch(plannedHandle(launcher.type, submission));
  await folder.writeJob({
    ...job,
    fence,
    settings: { ...job.settings, tokens_per_micro_batch: tokenBudget },
  });
  await folder.writeTraceParent(options.traceParent);
  await folder.touchLease();
  const handle = await launcher.submit(submission);
  await folder.writeLaunch(handle);
  return handle;
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

/**
 * Waits until the process of a job that has written its exit is gone, or takes too long to go, or its queue has taken
 * its place back.
 * @throws ModelUnavailable for a back end that does not answer, which could take no other job either; the signal's
 *   reason when it aborts
 */
async function untilGone(launcher: Launcher, handle: JobHandle, signal: AbortSignal): Promise<void> {
  const started = Date.now();
  for (;;) {
    const state = await launcher.state(handle);
    const outage = outageOf(state);
    if (outage !== undefined) throw outage;
    const isGone = state.state === 'ended' || state.state === 'queued';
    if (isGone || Date.now() - started >= maxEndMs) return;
    signal.throwIfAborted();
    await sleep(launcher.pollMs / 10);
  }
}
