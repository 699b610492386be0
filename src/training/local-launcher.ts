import { setTimeout as sleep } from 'node:timers/promises';
import type { Python } from '../processes/python.ts';
import { isAlive } from '../runtime/process-identity.ts';
import type { ProcessIdentity } from '../runtime/process-identity.ts';
import { JobFolder } from './job-folder.ts';
import { launchedProcess, signalJob, writerOf } from './job-process.ts';
import { claimName, logCommand, plannedHandle } from './launcher.ts';
import type { JobHandle, JobState, JobSubmission, Launcher, LauncherType } from './launcher.ts';
import { WorkMeter } from './process-activity.ts';

/** Limit of the time that a job takes from its start to its first line of progress, before it is asked to end. */
const maxStartMs = 10_000;

/** What a launcher on this host has started itself. */
interface LocalJob {
  process: ProcessIdentity | undefined;
  /** Lines of the progress file that earlier jobs wrote. */
  linesBefore: number;
}

/**
 * Jobs that are processes of this host. A job is alive as long as it holds the lock of its folder, or its process
 * was started here and runs. A second job of a folder waits for the first.
 */
export class LocalLauncher implements Launcher {
  readonly type: LauncherType;
  readonly pollMs = 1_000;
  readonly settleMs = 0;
  readonly preempts = false;
  readonly #python: Python;
  readonly #start: (submission: JobSubmission) => Promise<number | undefined>;
  readonly #measures: 'leader' | 'writer';
  readonly #jobs = new Map<string, LocalJob>();
  readonly #meter = new WorkMeter();

  /**
   * @param start starts the process of a job, which leads a session of its own, and returns its number if it has one
   * @param options `measures`: which process's work is the job's, the leader's or that of the one that writes progress
   */
  constructor(
    type: LauncherType,
    python: Python,
    start: (submission: JobSubmission) => Promise<number | undefined>,
    { measures = 'leader' }: { measures?: 'leader' | 'writer' } = {},
  ) {
    this.type = type;
    this.#measures = measures;
    this.#python = python;
    this.#start = start;
  }

  async submit(submission: JobSubmission): Promise<JobHandle> {
    const linesBefore = await this.#folder(submission).progressLines();
    const process = launchedProcess(await this.#start(submission));
    this.#jobs.set(claimName(submission), { process, linesBefore });
    return {
      ...plannedHandle(this.type, submission),
      id: process === undefined ? null : String(process.pid),
    };
  }

  async state(handle: JobHandle): Promise<JobState> {
    const { process } = this.#job(handle);
    if (process !== undefined && isAlive(process)) return { state: 'running' };
    return { state: (await this.#folder(handle).isAlive()) ? 'running' : 'ended' };
  }

  async cancel(handle: JobHandle, graceMs: number): Promise<boolean> {
    if (graceMs === 0) return this.#signal(handle, 'SIGKILL');
    const folder = this.#folder(handle);
    const { linesBefore } = this.#job(handle);
    const begun = Date.now();
    let isTold = false;
    while (Date.now() - begun < graceMs && (await folder.exit()) === undefined) {
      // Until its progress names its process, it may not know yet what to do when it is asked to end.
      if (!isTold && (await folder.progressLines()) > linesBefore) {
        // A job of another host, or of a system that does not tell who it is, ends by its lease.
        if (!(await this.#signal(handle, 'SIGTERM'))) return false;
        isTold = true;
      }
      const mayBeDead = isTold || Date.now() - begun > maxStartMs;
      if (mayBeDead && (await this.state(handle)).state === 'ended') break;
      await sleep(100);
    }
    return isTold;
  }

  logs({ folder }: JobHandle): string {
    return logCommand(folder);
  }

  describe({ id }: JobHandle): string {
    return id === null ? 'a process of its worker' : `process ${id}`;
  }

  async hasWorked(handle: JobHandle, now: number): Promise<boolean> {
    const leader = (): Promise<ProcessIdentity | undefined> => this.#process(handle);
    const process =
      this.#measures === 'writer' ? ((await this.#writer(handle)) ?? (await leader())) : await leader();
    return process !== undefined && (await this.#meter.hasWorked(process.pid, now));
  }

  /** Signals the job's processes. @returns whether it was reached */
  async #signal(handle: JobHandle, signal: NodeJS.Signals): Promise<boolean> {
    return signalJob(await this.#process(handle), signal);
  }

  /** The process that leads the job's session, if it was started here, or holds the lock of its folder. */
  async #process(handle: JobHandle): Promise<ProcessIdentity | undefined> {
    return this.#job(handle).process ?? (await this.#writer(handle));
  }

  /** The process that writes the job's progress, if it holds the lock of its folder. */
  async #writer(handle: JobHandle): Promise<ProcessIdentity | undefined> {
    const folder = this.#folder(handle);
    const progress = await folder.progress();
    return progress && writerOf(progress.last, folder.lock);
  }

  #job(handle: JobHandle): LocalJob {
    return this.#jobs.get(claimName(handle)) ?? { process: undefined, linesBefore: 0 };
  }

  /** Whoever watches the job has reported what is damaged in its folder. */
  #folder({ folder }: Pick<JobHandle, 'folder'>): JobFolder {
    return new JobFolder(folder, this.#python, () => undefined);
  }
}
