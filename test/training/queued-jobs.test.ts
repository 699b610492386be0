import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { LocalLauncher } from '../../src/training/local-launcher.ts';
import { plannedHandle, unansweredState } from '../../src/training/launcher.ts';
import type { JobHandle, JobState, JobSubmission, Launcher } from '../../src/training/launcher.ts';
import { unseal } from '../../src/training/job-folder.ts';
import { failureOf, python, scriptFile, trial } from './job-trial.ts';
import type { Trial } from './job-trial.ts';

/** A back end with a queue, which starts a job when the test says so. It outlives the workers. */
class Queue {
  readonly submitted: JobSubmission[] = [];
  isOpen = false;
  /** What its own clock says of a job's wait; undefined = it does not tell. */
  waited: number | undefined;
  answers = true;
  /** Claim of a job that waits for its quota once more. */
  takenBack: number | undefined;
  /** It answers, and does not know what has become of the job. */
  hasLostNode = false;
  readonly #local = new LocalLauncher('process', python, ({ folder }) =>
    Promise.resolve(python.spawn([scriptFile, folder], { detached: true, stdio: 'ignore' }).pid),
  );
  readonly #started = new Set<number>();

  /** What a worker sees of it. */
  launcher(): Launcher {
    return {
      type: 'process',
      pollMs: 20,
      settleMs: 0,
      preempts: true,
      submit: (submission) => {
        if (!this.submitted.some(({ fence }) => fence === submission.fence)) this.submitted.push(submission);
        return Promise.resolve({ ...plannedHandle('process', submission), id: `number-${submission.fence}` });
      },
      state: (handle) => this.#state(handle),
      cancel: async (handle, graceMs) => {
        const index = this.submitted.findIndex(({ fence }) => fence === handle.fence);
        if (!this.#started.has(handle.fence)) return this.submitted.splice(index, 1).length > 0;
        return this.#local.cancel(handle, graceMs);
      },
      waitedMs: () => Promise.resolve(this.waited),
      logs: (handle) => this.#local.logs(handle),
      describe: ({ id }) => `queue's job ${id}`,
    };
  }

  async #state(handle: JobHandle): Promise<JobState> {
    if (!this.answers) return unansweredState(new Error('it does not answer'), 'the queue');
    if (this.hasLostNode) return { state: 'unknown', reason: 'its node does not answer' };
    const job = this.submitted.find(({ fence }) => fence === handle.fence);
    if (job === undefined) return { state: 'ended' };
    if (!this.isOpen || handle.fence === this.takenBack)
      return { state: 'queued', reason: 'Resources', position: 3 };
    if (!this.#started.has(job.fence)) {
      this.#started.add(job.fence);
      await this.#local.submit(job);
    }
    return this.#local.state(handle);
  }
}

async function launchOf({ work }: Trial): Promise<unknown> {
  return unseal(await readFile(join(work.path, 'launch.json'), 'utf8'));
}

/** Time that passes while a job waits: two minutes each time that a worker looks. */
let passed = 0;
const clock = Date.now;
beforeEach(() => {
  passed = 0;
  vi.spyOn(Date, 'now').mockImplementation(() => clock() + passed);
});
afterEach(() => void vi.restoreAllMocks());

/** A worker that watches a job; `kill` leaves the job as a worker does that is killed. */
function worker(job: Trial, queue: Queue) {
  const queued: string[] = [];
  const waits: number[] = [];
  const controller = new AbortController();
  const running = job.run({
    launcher: queue.launcher(),
    signal: controller.signal,
    detach: () => true,
    stallMs: 60_000,
    onQueued: ({ reason, position }) => {
      passed += 120_000;
      queued.push(`${reason}, ${position}`);
    },
    onWaited: (seconds) => {
      waits.push(seconds);
      return Promise.resolve();
    },
  });
  const kill = async (): Promise<void> => {
    controller.abort(new Error('killed'));
    await failureOf(running);
  };
  const untilQueued = () => expect.poll(() => queued.length, { timeout: 20_000 }).toBeGreaterThan(1);
  return { queued, waits, running, kill, untilQueued };
}

describe('a training job in a queue', { timeout: 60_000 }, () => {
  it('waits longer than a stall, says why, and its wait is recorded once it runs', async () => {
    const queue = new Queue();
    const job = await trial();
    const watcher = worker(job, queue);
    await watcher.untilQueued();
    expect(watcher.queued[0]).toBe('Resources, 3');
    expect(await launchOf(job)).toMatchObject({ type: 'process', fence: 1, id: 'number-1' });
    queue.waited = 7_000;
    queue.isOpen = true;
    expect(await watcher.running).toMatchObject({ result: { steps_done: 3 } });
    expect(watcher.waits).toEqual([7]);
  });

  it('is found by the next worker, which records the wait that it did not see', async () => {
    const queue = new Queue();
    const job = await trial();
    const first = worker(job, queue);
    await first.untilQueued();
    await first.kill();
    queue.isOpen = true;
    const second = worker(job, queue);
    expect(await second.running).toMatchObject({ result: { steps_done: 3 } });
    expect(queue.submitted).toHaveLength(1);
    expect(first.waits).toEqual([]);
    expect(second.waits).toHaveLength(1);
    expect(second.waits[0]).toBeGreaterThan(200);
  });

  it('that ended while no worker looked has its wait recorded by whoever finds the result, once', async () => {
    const queue = new Queue();
    const job = await trial();
    const first = worker(job, queue);
    await first.untilQueued();
    await first.kill();
    queue.isOpen = true;
    const handle = { ...((await launchOf(job)) as JobHandle), folder: job.work.path };
    await expect
      .poll(async () => (await queue.launcher().state(handle)).state, { timeout: 20_000 })
      .toBe('ended');
    queue.waited = 42_000;
    const second = worker(job, queue);
    await second.running;
    expect(second.waits).toEqual([42]);
    const third = worker(job, queue);
    await third.running;
    expect(third.waits).toEqual([]);
  });

  it('leaves the queue when it is cancelled', async () => {
    const queue = new Queue();
    const job = await trial();
    const controller = new AbortController();
    const onQueued = (): void => controller.abort(new Error('cancelled'));
    expect(
      await failureOf(job.run({ launcher: queue.launcher(), signal: controller.signal, onQueued })),
    ).toMatchObject({ message: 'cancelled' });
    expect(queue.submitted).toEqual([]);
  });

  const outage = { name: 'ModelUnavailable', server: 'the queue', reason: 'Error: it does not answer' };

  it('keeps its place while its back end does not answer, which is an outage and not a failure', async () => {
    const queue = new Queue();
    const job = await trial();
    const first = job.run({
      launcher: queue.launcher(),
      stallMs: 300,
      onQueued: () => (queue.answers = false),
    });
    expect(await failureOf(first)).toMatchObject(outage);
    expect(await failureOf(job.run({ launcher: queue.launcher(), stallMs: 300 }))).toMatchObject(outage);
    expect(queue.submitted).toHaveLength(1);
    queue.answers = true;
    const third = worker(job, queue);
    await third.untilQueued();
    queue.isOpen = true;
    expect(await third.running).toMatchObject({ result: { steps_done: 3 } });
    expect((await job.starts()).map(({ fence }) => fence)).toEqual([1]);
  });

  it('is not ended for a stall that began before its back end was silent', async () => {
    const queue = new Queue();
    queue.isOpen = true;
    const job = await trial({ waits_for: 'go' });
    const running = job.run({ launcher: queue.launcher(), stallMs: 4_000 });
    await expect.poll(() => job.progress.at(-1)?.step, { timeout: 20_000 }).toBe(1);
    await sleep(2_500);
    queue.answers = false;
    expect(await failureOf(running)).toMatchObject(outage);
    queue.answers = true;
    await job.write('go', '');
    expect(await job.run({ launcher: queue.launcher() })).toMatchObject({ result: { steps_done: 3 } });
    expect(await job.starts()).toHaveLength(1);
  });

  it('that has begun and writes progress continues, however long its back end does not answer', async () => {
    const queue = new Queue();
    queue.isOpen = true;
    const job = await trial({ waits_for: 'go', says_waiting: true });
    const running = job.run({ launcher: queue.launcher(), stallMs: 5_000 });
    await expect.poll(() => job.progress.at(-1)?.step, { timeout: 20_000 }).toBe(1);
    queue.answers = false;
    const { length } = job.progress;
    await expect.poll(() => job.progress.length - length, { timeout: 20_000 }).toBeGreaterThan(14);
    await job.write('go', '');
    expect(await running).toMatchObject({ result: { steps_done: 3 } });
    expect(await job.starts()).toHaveLength(1);
  });

  it('whose node is lost before it was seen to run is ended after a stall', async () => {
    const queue = new Queue();
    const job = await trial();
    const running = job.run({
      launcher: queue.launcher(),
      stallMs: 300,
      onQueued: () => (queue.hasLostNode = true),
    });
    expect(await failureOf(running)).toMatchObject({ name: 'TrainerFailed' });
    expect(queue.submitted).toEqual([]);
  });

  it('that has ended badly does not fail again while its back end does not answer', async () => {
    const queue = new Queue();
    queue.isOpen = true;
    const job = await trial({ ends: 'failed' });
    expect(await failureOf(job.run({ launcher: queue.launcher() }))).toMatchObject({ name: 'TrainerFailed' });
    queue.answers = false;
    expect(await failureOf(job.run({ launcher: queue.launcher() }))).toMatchObject(outage);
    queue.answers = true;
    await job.write('script.json', '{}');
    expect(await job.run({ launcher: queue.launcher() })).toMatchObject({ result: { steps_done: 3 } });
    expect((await job.starts()).map(({ fence }) => fence)).toEqual([1, 2]);
  });

  it('that its back end has pre-empted is submitted again under the next claim, and costs no attempt', async () => {
    const queue = new Queue();
    queue.isOpen = true;
    const job = await trial({ waits_for: 'go' });
    const running = job.run({ launcher: queue.launcher() });
    await expect.poll(() => job.progress.at(-1)?.step, { timeout: 20_000 }).toBe(1);
    process.kill(job.progress.at(-1)!.pid, 'SIGTERM');
    await expect.poll(() => job.starts(), { timeout: 20_000 }).toHaveLength(2);
    await job.write('go', '');
    expect(await running).toMatchObject({ result: { steps_done: 3 } });
    expect((await job.starts()).map(({ fence }) => fence)).toEqual([1, 2]);
  });

  it('whose queue takes its place back is submitted under the next claim, at no cost of an attempt', async () => {
    const queue = new Queue();
    queue.isOpen = true;
    const job = await trial({ waits_for: 'go' });
    const running = job.run({ launcher: queue.launcher() });
    await expect.poll(() => job.progress.at(-1)?.step, { timeout: 20_000 }).toBe(1);
    queue.takenBack = 1;
    process.kill(job.progress.at(-1)!.pid, 'SIGTERM');
    await expect.poll(() => job.starts(), { timeout: 15_000 }).toHaveLength(2);
    await job.write('go', '');
    expect(await running).toMatchObject({ result: { steps_done: 3 } });
  });

  it('that is pre-empted again before it got further fails, as an attempt of its activity', async () => {
    const queue = new Queue();
    queue.isOpen = true;
    const job = await trial({ ends: 'terminated' });
    expect(await failureOf(job.run({ launcher: queue.launcher() }))).toMatchObject({
      name: 'TrainerFailed',
      message: expect.stringMatching(/terminated/) as string,
    });
    expect((await job.starts()).map(({ fence }) => fence)).toEqual([1, 2]);
  });
});
