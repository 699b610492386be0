import { constants } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { SlurmSettings } from '../config/slurm.ts';
import { ModelUnavailable } from '../inference/policy-client.ts';
import { runProgram } from '../processes/program.ts';
import type { ProgramEnd } from '../processes/program.ts';
import { openPlainFile } from '../store/plain-files.ts';
import { jobName, logCommand, plannedHandle, TrainerUnavailable, unansweredState } from './launcher.ts';
import type { JobHandle, JobState, JobSubmission, Launcher } from './launcher.ts';
import { parseQueue, queueFormat, stateOf, waitedMs } from './slurm-queue.ts';
import type { QueueLine } from './slurm-queue.ts';

/** The script that takes the words of a command and becomes it. */
const script = join(import.meta.dirname, 'slurm-job.sh');
/** Slurm's programs try a controller that is away for some time themselves. */
const maxCommandMs = 60_000;
/** Nothing heartbeats during a look, so it ends well before the attempt has to. */
const maxLookMs = 30_000;
/** Limit of the question for a place in the queue, and how long its answer counts: it lists all jobs that wait. */
const maxPositionMs = 5_000;
const positionLifeMs = 300_000;
/** Between two looks at a job that was asked to end. */
const endPollMs = 500;
/** Seconds before a limit of time or a pre-emption at which the job is told to write a checkpoint. */
const warningSeconds = 90;

export interface SlurmOptions {
  settings: SlurmSettings;
  /** Options of `sbatch` that the operator adds. */
  operatorArguments: readonly string[];
  /** Processors that the job's processes use. */
  cpus: number;
  /** The command of a job, and the environment of Slurm's programs, which the job gets too. */
  command: (submission: JobSubmission) => { words: string[]; env: Record<string, string> };
  /** Shorter ones for tests. */
  pollMs?: number;
  settleMs?: number;
}

/**
 * Jobs of a Slurm cluster, by its command line. All claims of a work folder have one job name, of which `singleton`
 * lets one run at a time, and each has a comment of its own, `key#fence`. A number alone is no name: a controller
 * that was killed gives numbers again.
 */
export class SlurmLauncher implements Launcher {
  readonly type = 'slurm';
  readonly pollMs: number;
  readonly settleMs: number;
  readonly preempts = true;
  readonly #options: SlurmOptions;

  constructor(options: SlurmOptions) {
    this.#options = options;
    this.pollMs = options.pollMs ?? 15_000;
    // A shared file system shows a node's files here some seconds later.
    this.settleMs = options.settleMs ?? 10_000;
  }

  /** @throws ModelUnavailable if the controller is away, TrainerUnavailable */
  async submit(submission: JobSubmission): Promise<JobHandle> {
    const handle = plannedHandle(this.type, submission);
    const existing = await this.#find(handle);
    if (existing === 'unknown') throw unavailable('squeue', this.#lastFailure);
    if (existing !== undefined) return { ...handle, id: existing.id };
    // Slurm opens the log by its name, and follows links.
    const { O_WRONLY, O_APPEND, O_CREAT } = constants;
    await using log = await openPlainFile(join(submission.folder, 'log.txt'), O_WRONLY | O_APPEND | O_CREAT);
    await log.sync();
    const { words, env } = this.#options.command(submission);
    const end = await this.#run('sbatch', [...this.#submitOptions(submission), script, ...words], { env });
    const id = /^(\d{1,12})(?:;\S*)?\s*$/m.exec(end.stdout)?.[1];
    if (end.code !== 0 || id === undefined) throw unavailable('sbatch', end);
    return { ...handle, id };
  }

  async state(handle: JobHandle): Promise<JobState> {
    const line = await this.#find(handle);
    if (line === 'unknown')
      return unansweredState(controllerOutage('squeue', cut(this.#lastFailure.stderr)), 'Slurm');
    if (line === undefined) return { state: 'ended' };
    const state = stateOf(line);
    return state.state === 'queued' && line.state === 'PENDING'
      ? stateOf(line, await this.#position(line))
      : state;
  }

  async cancel(handle: JobHandle, graceMs: number): Promise<boolean> {
    const line = await this.#find(handle);
    if (line === 'unknown' || line === undefined || stateOf(line).state === 'ended') return false;
    if (graceMs === 0) {
      await this.#run('scancel', ['--full', '--signal=KILL', line.id]);
      return (await this.#run('scancel', [line.id])).code === 0;
    }
    // A signal does not reach a job that waits; it leaves the queue.
    if (stateOf(line).state === 'queued') return (await this.#run('scancel', [line.id])).code === 0;
    if ((await this.#run('scancel', ['--batch', '--signal=TERM', line.id])).code !== 0) return false;
    const begun = Date.now();
    while (Date.now() - begun < graceMs && (await this.state(handle)).state !== 'ended')
      await sleep(endPollMs);
    return true;
  }

  logs({ folder }: JobHandle): string {
    return logCommand(folder);
  }

  describe(handle: JobHandle): string {
    return `Slurm job ${handle.id ?? jobName(handle)}`;
  }

  async waitedMs(handle: JobHandle): Promise<number | undefined> {
    const line = await this.#find(handle);
    return line === undefined || line === 'unknown' ? undefined : waitedMs(line);
  }

  #submitOptions({ key, fence, folder }: JobSubmission): string[] {
    const { settings, operatorArguments, cpus } = this.#options;
    const { partition, account, qos, gpus, memoryGigabytes, timeLimitMinutes } = settings;
    return [
      ...['--parsable', `--job-name=${jobName({ key })}`, `--comment=${commentOf({ key, fence })}`],
      ...['--dependency=singleton', '--no-requeue', `--signal=B:TERM@${warningSeconds}`],
      ...[`--output=${join(folder, 'log.txt').replaceAll('%', '%%')}`, '--open-mode=append', '--chdir=/'],
      ...['--nodes=1', '--ntasks=1', `--cpus-per-task=${settings.cpus ?? cpus}`],
      ...(partition === undefined ? [] : [`--partition=${partition}`]),
      ...(account === undefined ? [] : [`--account=${account}`]),
      ...(qos === undefined ? [] : [`--qos=${qos}`]),
      ...(gpus === undefined ? [] : [`--gres=gpu:${gpus}`]),
      ...(memoryGigabytes === undefined ? [] : [`--mem=${memoryGigabytes}G`]),
      ...(timeLimitMinutes === undefined ? [] : [`--time=${timeLimitMinutes}`]),
      ...operatorArguments,
    ];
  }

  #lastFailure: ProgramEnd = { code: 0, stdout: '', stderr: '' };
  /** Places in the queue, by the job's number, as they were last asked for. */
  readonly #positions = new Map<string, { at: number; position: number | undefined }>();

  /** The job of a claim, also one that has ended a short time ago; the newest, if there are several. */
  async #find(handle: Pick<JobHandle, 'key' | 'fence'>): Promise<QueueLine | undefined | 'unknown'> {
    const end = await this.#run('squeue', [
      ...[
        '--me',
        '--noheader',
        '--states=all',
        '--sort=i',
        `--name=${jobName(handle)}`,
        `--format=${queueFormat}`,
      ],
    ]);
    if (end.code !== 0) {
      this.#lastFailure = end;
      return 'unknown';
    }
    return parseQueue(end.stdout).findLast(({ comment }) => comment === commentOf(handle));
  }

  /** Its place among all jobs that wait, by priority; undefined if the cluster does not show others' jobs. */
  async #position({ id }: QueueLine): Promise<number | undefined> {
    const last = this.#positions.get(id);
    if (last !== undefined && Date.now() - last.at < positionLifeMs) return last.position;
    const end = await this.#run('squeue', ['--noheader', '--states=PENDING', '--sort=-p,i', '--format=%i'], {
      timeoutMs: maxPositionMs,
    });
    const index = end.stdout.split('\n').findIndex((line) => line.trim() === id);
    const position = end.code !== 0 || index === -1 ? undefined : index + 1;
    this.#positions.set(id, { at: Date.now(), position });
    return position;
  }

  #run(
    command: string,
    args: readonly string[],
    {
      env = this.#environment(),
      timeoutMs = command === 'squeue' ? maxLookMs : maxCommandMs,
    }: { env?: Record<string, string>; timeoutMs?: number } = {},
  ): Promise<ProgramEnd> {
    return runProgram(command, args, { env: { ...env, TZ: 'UTC' }, timeoutMs });
  }

  #environment(): Record<string, string> {
    return this.#options.command({ key: '', fence: 0, folder: '/' }).env;
  }
}

const commentOf = ({ key, fence }: Pick<JobHandle, 'key' | 'fence'>): string => `${key}#${fence}`;

const cut = (text: string): string => text.trim().slice(0, 500);

/** A controller that is away is waited for by the workflow, as a model server is, at no cost of an attempt. */
const controllerOutage = (command: string, reason: string): ModelUnavailable =>
  new ModelUnavailable(failureText(command, reason), { server: 'Slurm', reason });

/** A controller that is away or changes over, and limits of a site on how many jobs it takes. */
const passing = new RegExp(
  'contact slurm controller|timed out|connect failure|standby mode|zero bytes were transmitted|' +
    'resource temporarily unavailable|MaxSubmitJob',
  'i',
);

/** A submission that fails may be wrong in itself. */
function unavailable(command: string, { stderr }: ProgramEnd): Error {
  const reason = cut(stderr);
  return passing.test(reason)
    ? controllerOutage(command, reason)
    : new TrainerUnavailable(failureText(command, reason));
}

const failureText = (command: string, reason: string): string =>
  `${command} failed: ${reason}; see docs/slurm.md, or choose another trainer.launcher`;
