import { writeFileSync } from 'node:fs';
import { NamespaceNotFoundError } from '@temporalio/client';
import type { WorkflowHandle } from '@temporalio/client';
import type { RandomStream } from '../../src/numerics/random.ts';
import { faultFile } from '../../test-support/armed-faults.ts';
import type { ArmedFault, TrailLine } from '../../test-support/armed-faults.ts';
import { until } from '../../test-support/processes.ts';
import type { TestProcess } from '../../test-support/processes.ts';
import type { ChaosStack } from './chaos-stack.ts';
import { JobWatch } from './job-watch.ts';

/** Long enough for any machine: nothing is judged by it. */
export const patience = 240_000;

/** The activities of an epoch, in its order. */
export const epochActivities = [
  'generateTasks',
  'drawTasks',
  'rollOut',
  'computeRewards',
  'filterByDifficulty',
  'updatePools',
  'trainAgent',
  'trainEnvironment',
  'commitEpoch',
] as const;
export type EpochActivity = (typeof epochActivities)[number];

/** One run of the experiment, and what a fault may do to it and to the processes around it. */
export class Scene {
  readonly stack: ChaosStack;
  readonly id: string;
  readonly random: RandomStream;
  /** The epoch that the fault is meant for. */
  readonly epoch: number;
  readonly jobs: JobWatch;
  readonly #afterwards: (() => Promise<void>)[] = [];
  readonly #expected: (() => string[])[] = [];

  constructor(stack: ChaosStack, id: string, random: RandomStream) {
    this.stack = stack;
    this.id = id;
    this.random = random;
    this.epoch = 1 + random.int(stack.experimentFile.epochs as number);
    this.jobs = new JobWatch(stack.path('store'), id, stack.path('chaos', id));
  }

  get handle(): WorkflowHandle {
    return this.stack.live.client.workflow.getHandle(this.id);
  }
  get worker(): TestProcess {
    return this.stack.worker!;
  }
  get trail(): TrailLine[] {
    return this.stack.trail.linesOf(this.id);
  }

  /** Starts the run; the same id again continues from its ledger. */
  async begin(): Promise<void> {
    await this.stack.live.startRun(this.id, this.stack.experimentFile);
  }

  /** Another run of the same experiment, beside this one. */
  twin(): Scene {
    return new Scene(this.stack, `${this.id}-twin`, this.random);
  }

  /** The process of the epoch's training job, as soon as it is under way. */
  async job(activity: 'trainAgent' | 'trainEnvironment', epoch = this.epoch): Promise<number> {
    const folder = `${String(epoch).padStart(4, '0')}-${activity === 'trainAgent' ? 'train-agent' : 'train-environment'}-`;
    let pid: number | undefined;
    await until(
      () => (pid = this.jobs.pid(folder)) !== undefined,
      patience,
      `the job ${folder} of ${this.id}`,
    );
    return pid!;
  }

  /** Done when the run has been judged: what the next run on this stack must not meet. */
  afterwards(work: () => Promise<void>): void {
    this.#afterwards.push(work);
  }

  /** Looked at when the run is over; gives what does not hold. */
  expect(look: () => string[]): void {
    this.#expected.push(look);
  }

  unexpected(): string[] {
    return this.#expected.flatMap((look) => look());
  }

  async dispose(): Promise<void> {
    this.jobs.stop();
    for (const work of this.#afterwards.reverse()) await work();
  }

  arm(fault: Omit<ArmedFault, 'run' | 'epoch'> & { epoch?: number }): void {
    writeFileSync(
      faultFile(this.stack.folder),
      JSON.stringify({ run: this.id, epoch: this.epoch, ...fault } satisfies ArmedFault),
    );
  }

  /** Until the armed fault has struck. */
  async struck(): Promise<void> {
    await this.seen('the fault', ({ what }) => what === 'fault');
  }

  async seen(what: string, wanted: (line: TrailLine) => boolean): Promise<TrailLine> {
    let line: TrailLine | undefined;
    await until(() => (line = this.trail.find(wanted)) !== undefined, patience, `${what} of ${this.id}`);
    return line!;
  }

  /**
   * Until another worker than this process works on the run, or the run is over: what struck after its last
   * activity leaves nothing to do.
   */
  async workedOnWithout(pid: number | undefined): Promise<void> {
    const byAnotherWorker = (line: TrailLine): boolean => line.what === 'begin' && line.pid !== pid;
    await until(
      async () => this.trail.some(byAnotherWorker) || (await this.#status()) !== 'RUNNING',
      patience,
      `the work of another worker of ${this.id}`,
    );
  }

  /** Until an activity of the epoch has begun. */
  begun(activity: string, epoch = this.epoch): Promise<TrailLine> {
    return this.seen(
      `${activity} of epoch ${epoch}`,
      (line) => line.what === 'begin' && line.activity === activity && line.epoch === epoch,
    );
  }

  /** A random moment of a random phase of the scene's epoch. */
  async anyMoment(): Promise<void> {
    await this.begun(this.random.pick(epochActivities));
    await this.pause(this.random.int(120));
  }

  pause(ms: number): Promise<void> {
    return new Promise((resolve) => setTimeout(resolve, ms));
  }

  /** A new worker; the moment at which it polls. */
  async newWorker(environment?: NodeJS.ProcessEnv): Promise<number> {
    await this.stack.startWorker(environment);
    return Date.now();
  }

  /** Until the run is over. @throws what it ended with, if that is a failure */
  async finish(): Promise<void> {
    await until(
      async () => {
        const status = await this.#status();
        if (['FAILED', 'TIMED_OUT', 'TERMINATED', 'CANCELLED'].includes(status)) await this.handle.result();
        return status === 'COMPLETED';
      },
      patience,
      `the end of ${this.id}`,
    );
  }

  /** Whether nothing is left to disturb. */
  async isOver(): Promise<boolean> {
    return (await this.#status()) !== 'RUNNING';
  }

  /** A server whose database is away may say that it has no such namespace: that tells nothing of the run. */
  async #status(): Promise<string> {
    try {
      return (await this.handle.describe()).status.name;
    } catch (error) {
      if (error instanceof NamespaceNotFoundError) return 'RUNNING';
      throw error;
    }
  }
}
