import { setTimeout as sleep } from 'node:timers/promises';
import type { JobProgress } from '../types/training-job.ts';
import type { JobFolder } from './job-folder.ts';
import { outageOf } from './launcher.ts';
import type { JobHandle, JobState, Launcher } from './launcher.ts';
import type { QueueWait } from './queue-wait.ts';
import type { SharedCheckpoints } from './shared-checkpoints.ts';

const pollMs = 20;
/** A job is looked at after a fiftieth of the time that it has taken so far: its files are read each time. */
const longestPollMs = 500;
const leaseMs = 2_000;
/** Time without a word of a back end or its job, after which the workflow waits for the back end. */
const maxSilenceMs = 30_000;
/** Limit of the time that a job takes to end. */
export const maxEndMs = 20_000;
/** Limit of the time that a worker that stops takes to send a job's last step checkpoint. */
const maxSendMs = 20_000;

/** The job ended without a result; a new start resumes it from its last step checkpoint. */
export class TrainerFailed extends Error {
  override readonly name = 'TrainerFailed';
}

export type QueuedState = Extract<JobState, { state: 'queued' }>;

export interface WatchOptions {
  /** Called for each line of real progress, never by a timer, with the steps that are new since the last one. */
  onProgress: (progress: JobProgress, msSinceLast: number, newSteps: number, handle: JobHandle) => void;
  /** Called when a job that says nothing is seen to work, and how long it has said nothing. */
  onWork?: (msSinceProgress: number, handle: JobHandle) => void;
  /** Called each time that the job is seen to wait in the queue of its back end. */
  onQueued?: (state: QueuedState, handle: JobHandle) => void;
  /** Aborted when the activity is cancelled or its worker stops. */
  signal: AbortSignal;
  /** When the signal is aborted: whether the job continues without its worker. */
  detach: () => boolean;
  /**
   * Limit of the time that a living job neither reports progress nor works nor waits in a queue. A back end may
   * be silent for half of it at most, since nothing heartbeats meanwhile.
   */
  stallMs: number;
}

/** A job that was submitted, by this attempt or an earlier one. */
export interface WatchedJob {
  folder: JobFolder;
  launcher: Launcher;
  handle: JobHandle;
  queue: QueueWait;
  checkpoints: SharedCheckpoints;
  /** Lines of the progress file that earlier jobs wrote. */
  linesBefore: number;
  /** Optimizer steps of its newest line then. */
  stepsBefore: number;
}

/**
 * Returns when the job has ended, for whatever reason. It lives as long as its back end says so, or it writes
 * progress; what waits in a queue does not stall, and nothing does as long as its back end does not answer.
 * @returns what its back end says of its end, if it says something
 * @throws TrainerFailed for a job that stalls, which is ended; ModelUnavailable for a back end that does not
 * answer, whose job is left to the next attempt; the signal's reason when it aborts
 */
export async function watchJob(job: WatchedJob, options: WatchOptions): Promise<string | undefined> {
  const { checkpoints } = job;
  const sending = new AbortController();
  try {
    return await watchUntilEnd(job, options, () => checkpoints.startSending(sending.signal));
  } finally {
    // What is half sent when a job ends is of no use. When its worker stops, another host may continue.
    const isStopped = options.signal.aborted;
    const timer = setTimeout(() => sending.abort(), isStopped ? maxSendMs : 0);
    await checkpoints.settle();
    if (isStopped) checkpoints.startSending(sending.signal);
    await checkpoints.settle();
    clearTimeout(timer);
  }
}

async function watchUntilEnd(
  { folder, launcher, handle, queue, linesBefore, stepsBefore }: WatchedJob,
  options: WatchOptions,
  startSending: () => void,
): Promise<string | undefined> {
  const { signal, stallMs } = options;
  let linesSeen = linesBefore;
  let stepsSeen = stepsBefore;
  const begun = Date.now();
  let lastProgress = begun;
  // A line of progress, processor time that advances (a busy machine may give a job little of it), or a queue.
  let lastLife = begun;
  let lastLease = 0;
  let lastProbe = begun;
  let endedAt: number | undefined;
  let isQueued = false;
  const silenceMs = Math.min(maxSilenceMs, stallMs / 2);
  let silentSince: number | undefined;
  for (;;) {
    const hasEnded = (await folder.exit()) !== undefined;
    if (signal.aborted && !hasEnded) {
      if (!options.detach()) await launcher.cancel(handle, maxEndMs);
      throw signal.reason;
    }
    const progress = await folder.progress();
    const now = Date.now();
    if (progress && progress.lines !== linesSeen) {
      await queue.end();
      options.onProgress(
        progress.last,
        now - lastProgress,
        Math.max(0, progress.last.step - stepsSeen),
        handle,
      );
      linesSeen = progress.lines;
      stepsSeen = Math.max(stepsSeen, progress.last.step);
      lastProgress = now;
      lastLife = now;
      lastProbe = now;
      endedAt = undefined;
    }
    if (hasEnded) return undefined;
    if (now - lastLease > leaseMs) {
      await folder.touchLease();
      startSending();
      lastLease = now;
    }
    if (now - lastProbe > launcher.pollMs) {
      lastProbe = now;
      const state = await launcher.state(handle);
      const outage = outageOf(state);
      if (outage !== undefined) {
        silentSince ??= now;
        const isOver = Date.now() - Math.max(silentSince, lastLife) >= silenceMs;
        if (isOver && !signal.aborted) throw outage;
      } else {
        silentSince = undefined;
        // The limit of a stall begins with the job.
        if (isQueued || state.state === 'queued') lastLife = lastProgress = now;
        isQueued = state.state === 'queued';
        endedAt = state.state === 'ended' ? (endedAt ?? now) : undefined;
        if (state.state === 'ended' && now - endedAt! >= launcher.settleMs) return state.reason;
        if (state.state === 'queued') {
          await queue.note();
          options.onQueued?.(state, handle);
        } else if (state.state === 'running') {
          await queue.end();
          if (await launcher.hasWorked?.(handle, now)) {
            lastLife = now;
            options.onWork?.(now - lastProgress, handle);
          }
        }
        if (now - lastLife > stallMs)
          throw await endStalled({ folder, launcher, handle, lastProgress, lastLife });
      }
    }
    await sleep(Math.min(longestPollMs, Math.max(pollMs, (now - begun) / 50)));
  }
}

async function endStalled({
  folder,
  launcher,
  handle,
  lastProgress,
  lastLife,
}: Pick<WatchedJob, 'folder' | 'launcher' | 'handle'> & {
  lastProgress: number;
  lastLife: number;
}): Promise<TrainerFailed> {
  const now = Date.now();
  const end = (await launcher.cancel(handle, 0)) ? 'was killed' : 'could not be ended from this host';
  return new TrainerFailed(
    `the trainer of ${folder.path} made no progress for ${now - lastProgress} ms, used no processor ` +
      `for ${now - lastLife} ms and ${end}; it continues from its last step`,
  );
}
