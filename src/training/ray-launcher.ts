import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { ModelUnavailable } from '../inference/policy-client.ts';
import { shortReason } from '../inference/outage-reason.ts';
import { atomicWrite } from '../store/atomic-write.ts';
import { sha256 } from '../store/canonical-json.ts';
import { undefinedIfMissing } from '../store/errors.ts';
import { readPlainFile } from '../store/plain-files.ts';
import { claimName, plannedHandle, shellWord, unansweredState } from './launcher.ts';
import type { JobHandle, JobState, JobSubmission, Launcher } from './launcher.ts';
import { RayJobs } from './ray-jobs.ts';
import type { RayAddress, RayJob } from './ray-jobs.ts';

export interface RayResources {
  cpus: number;
  gpus: number;
}

/** What a node runs for a job: a command and its arguments, and variables besides those of the node. */
export interface RayCommand {
  words: readonly string[];
  variables: Readonly<Record<string, string>>;
}

/** Time that Ray leaves a job between SIGTERM and SIGKILL, for its checkpoint. */
const graceSeconds = 20;

/**
 * Jobs of a Ray cluster whose nodes have the worker's paths. Ray's own id of a job is ours, so a submission whose
 * answer was lost is found again.
 */
export class RayLauncher implements Launcher {
  readonly type = 'ray';
  readonly pollMs = 2_000;
  readonly settleMs = 10_000;
  readonly preempts = false;
  readonly #address: () => RayAddress;
  readonly #resources: RayResources;
  readonly #command: (folder: string) => RayCommand;
  /** Jobs that were removed to be submitted again, until they are: meanwhile Ray knows none. */
  readonly #removed = new Set<string>();

  /** @param address by the operator's list as it is now. @throws EndpointRefused */
  constructor(address: () => RayAddress, resources: RayResources, command: (folder: string) => RayCommand) {
    this.#address = address;
    this.#resources = resources;
    this.#command = command;
  }

  async submit(submission: JobSubmission): Promise<JobHandle> {
    const jobs = this.#jobs();
    const id = rayId(submission);
    await rm(stopFile(submission), { force: true });
    try {
      await this.#post(jobs, submission);
    } catch (error) {
      // Its answer may have been lost, or an earlier attempt has submitted it: Ray says 500 to both.
      if ((await jobs.find(id).catch(() => undefined)) === undefined) throw error;
    }
    return { ...plannedHandle('ray', submission), id };
  }

  async state(handle: JobHandle): Promise<JobState> {
    const id = rayId(handle);
    try {
      const jobs = this.#jobs();
      const job = await jobs.find(id);
      if (job === undefined && !this.#removed.has(id)) return { state: 'ended' };
      const waitsAnew = job === undefined || hasWaitedTooLong(job);
      if ((waitsAnew || job.status === 'PENDING') && (await isStopped(handle))) return { state: 'ended' };
      if (!waitsAnew) return stateOf(job);
      this.#removed.add(id);
      if (job !== undefined) await jobs.remove(id);
      await this.#post(jobs, handle);
      this.#removed.delete(id);
      return { state: 'queued', reason: 'submitted again, since Ray ends what waits too long' };
    } catch (error) {
      return unansweredState(error, 'Ray');
    }
  }

  async cancel(handle: JobHandle, graceMs: number): Promise<boolean> {
    const id = rayId(handle);
    try {
      const jobs = this.#jobs();
      // A job that waits hears of it when it starts: until then our own note counts.
      await atomicWrite(stopFile(handle), String(handle.fence));
      const isReached = await jobs.stop(id);
      const begun = Date.now();
      while (isReached && Date.now() - begun < graceMs) {
        const job = await jobs.find(id);
        if (job?.status !== 'RUNNING') break;
        await sleep(Math.min(500, graceMs));
      }
      return isReached;
    } catch (error) {
      if (!(error instanceof ModelUnavailable)) throw error;
      return false;
    }
  }

  logs(handle: JobHandle): string {
    return `ray job logs --address ${shellWord(this.#jobsAddress())} ${rayId(handle)}`;
  }

  describe(handle: JobHandle): string {
    return `Ray job ${rayId(handle)}`;
  }

  #jobs(): RayJobs {
    return new RayJobs(this.#address());
  }

  #jobsAddress(): string {
    try {
      return this.#address().baseUrl;
    } catch {
      return 'ADDRESS';
    }
  }

  #post(jobs: RayJobs, submission: JobSubmission): Promise<void> {
    const { words, variables } = this.#command(submission.folder);
    return jobs.submit({
      id: rayId(submission),
      // Without a shell between them, signals reach the trainer alone, and its exit code is the job's.
      entrypoint: `exec ${words.map(shellWord).join(' ')}`,
      variables: { ...variables, RAY_JOB_STOP_WAIT_TIME_S: String(graceSeconds) },
      ...this.#resources,
    });
  }
}

/** Of key, fence and folder: two stores may train on the same inputs in one cluster. */
export const rayId = (submission: Pick<JobSubmission, 'key' | 'fence' | 'folder'>): string =>
  `${claimName(submission)}-${sha256(submission.folder).slice(0, 8)}`;

/** Ray fails a job that has waited for its resources for RAY_JOB_START_TIMEOUT_SECONDS of its head (15 minutes). */
const hasWaitedTooLong = ({ status, error_type: type }: RayJob): boolean =>
  status === 'FAILED' && type === 'JOB_SUPERVISOR_ACTOR_START_TIMEOUT';

function stateOf({ status, message, driver_exit_code: code }: RayJob): JobState {
  switch (status) {
    case 'PENDING':
      return { state: 'queued', reason: shortReason(message ?? 'PENDING') };
    case 'RUNNING':
      return { state: 'running' };
    default:
      return { state: 'ended', ...(typeof code === 'number' && { code }) };
  }
}

/** The claim whose job was asked to end while it waited. */
const stopFile = ({ folder }: Pick<JobSubmission, 'folder'>): string => join(folder, 'ray-stopped');

async function isStopped({ folder, fence }: JobHandle): Promise<boolean> {
  const text = await undefinedIfMissing(readPlainFile(stopFile({ folder })));
  return text?.toString('utf8') === String(fence);
}
