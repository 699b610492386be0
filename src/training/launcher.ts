/** How training jobs reach a back end: what every launcher does, and how a job is named in it. */
import { z } from 'zod';
import type { TrainerSettings } from '../config/policies.ts';
import { shortReason } from '../inference/outage-reason.ts';
import { ModelUnavailable } from '../inference/policy-client.ts';

export type LauncherType = TrainerSettings['launcher']['type'];

/** A job to be started. Its name in the back end derives from `key` and `fence` alone. */
export interface JobSubmission {
  /** Hash of the job's inputs. */
  key: string;
  /** Claim of the attempt that starts it: a job of a lower one writes nothing more. */
  fence: number;
  /** Work folder with its `job.json`. */
  folder: string;
}

const name = z.string().min(1).max(200);

/** `launch.json`: where the job of a work folder was started. Written before it is, and again with its id. */
export const launchSchema = z.strictObject({
  type: z.enum(['resident', 'process', 'torchrun', 'slurm', 'ray', 'kubernetes']),
  key: z.string().regex(/^[0-9a-f]{64}$/),
  fence: z.int().min(1),
  /** The back end's own name or number of the job; null until it has said one. */
  id: name.nullable(),
  /** When it was submitted, ms since 1970 by the worker's clock. */
  submitted: z.int().min(0),
});
export type Launch = z.infer<typeof launchSchema>;

/** A job that was submitted, by which its launcher finds it again. */
export type JobHandle = Launch & { folder: string };

/**
 * What a back end knows of a job. `ended`: it has ended, or the back end answers and has no such job, without
 * `code` and `reason` if nobody knows how. `unknown`: the back end does not answer, which is an outage, or it
 * answers that it does not know (a node is lost).
 */
export type JobState =
  | { state: 'queued'; reason: string; position?: number }
  | { state: 'running' }
  | { state: 'ended'; code?: number; reason?: string }
  | { state: 'unknown'; reason: string; outage?: ModelUnavailable };

/**
 * The state of a job whose back end could not be asked, for whatever reason: that says nothing of the job.
 * @param server what the workflow then waits for, if the error does not name it
 */
export function unansweredState(error: unknown, server: string): JobState {
  const reason = shortReason(String(error));
  const outage =
    error instanceof ModelUnavailable
      ? error
      : new ModelUnavailable(`${server}: ${reason}`, { cause: error, server, reason });
  return { state: 'unknown', reason, outage };
}

/** Why the back end could not be asked for this state; undefined if it has answered. */
export const outageOf = (state: JobState): ModelUnavailable | undefined =>
  state.state === 'unknown' ? state.outage : undefined;

/** Starts training jobs in a back end, and finds them again there. Fencing is not its business: jobs do it. */
export interface Launcher {
  readonly type: LauncherType;
  /** Milliseconds between two looks at a job that says nothing. */
  readonly pollMs: number;
  /**
   * Milliseconds from a job's end until its files can be seen from here; a line of progress starts them anew,
   * since a job that writes lives, whatever its back end says.
   */
  readonly settleMs: number;
  /**
   * Whether the back end may end a job that it did not fail (pre-emption, limits of time): it is submitted
   * again, and costs no attempt as long as it gets further.
   */
  readonly preempts: boolean;
  /** Submits the job, or finds the one of that key and fence. @throws TrainerUnavailable */
  submit(submission: JobSubmission): Promise<JobHandle>;
  state(handle: JobHandle): Promise<JobState>;
  /**
   * Asks the job to write a checkpoint and end, and waits for that at most `graceMs`; then it ends at its next
   * step. With 0 it is ended at once. A job that waits in a queue leaves it.
   * @returns whether a job was reached
   */
  cancel(handle: JobHandle, graceMs: number): Promise<boolean>;
  /** The command that prints the job's log. */
  logs(handle: JobHandle): string;
  /** Where the job is, for people: `Slurm job 42`. */
  describe(handle: JobHandle): string;
  /** Whether the job has worked since this was last called, though it says nothing; absent if nobody knows. */
  hasWorked?(handle: JobHandle, now: number): Promise<boolean>;
  /** Milliseconds that a job which runs has waited in the queue, by the back end's clock, if it knows. */
  waitedMs?(handle: JobHandle): Promise<number | undefined>;
}

/** Whether a back end gives each job devices of its own, on a host of its choice: no lock of this host holds them. */
export const givesDevices = (type: LauncherType): boolean =>
  type === 'slurm' || type === 'ray' || type === 'kubernetes';

/** The trainer could not be started; a later attempt may succeed. */
export class TrainerUnavailable extends Error {
  override readonly name = 'TrainerUnavailable';
}

/** The handle of a job that is about to be submitted. */
export const plannedHandle = (type: LauncherType, submission: JobSubmission): JobHandle => ({
  type,
  ...submission,
  id: null,
  submitted: Date.now(),
});

/** What the jobs of a work folder are called in a back end: the same for every claim, so that one runs at a time. */
export const jobName = ({ key }: Pick<JobSubmission, 'key'>): string => `genenv-${key.slice(0, 12)}`;

/** What one claim's job is called. */
export const claimName = (submission: Pick<JobSubmission, 'key' | 'fence'>): string =>
  `${jobName(submission)}-${submission.fence}`;

/** A word of a command for people to paste into a shell. */
export const shellWord = (text: string): string =>
  /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;

/** The command that prints a job's log where its folder can be reached. */
export const logCommand = (folder: string): string => `cat ${shellWord(`${folder}/log.txt`)}`;
