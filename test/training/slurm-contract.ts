import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { plannedHandle } from '../../src/training/launcher.ts';
import type { JobHandle } from '../../src/training/launcher.ts';
import { SlurmLauncher } from '../../src/training/slurm-launcher.ts';
import { slurmCommand } from '../../test-support/slurm.ts';
import type { TestCluster } from '../../test-support/slurm.ts';
import { failureOf, scriptFile, trial } from './job-trial.ts';
import type { Trial } from './job-trial.ts';

const patience = { timeout: 60_000, interval: 100 };

/** What the launcher promises, on a real cluster and on the fake one. @param more tests of the real one alone */
export function slurmContract<Cluster extends TestCluster>(
  title: string,
  start: (folder: string) => Promise<Cluster>,
  more: (parts: ReturnType<typeof clusterParts<Cluster>>) => void = () => undefined,
): void {
  describe(title, { timeout: 180_000 }, () => {
    let cluster: Cluster;
    let folder: string;
    beforeAll(async () => {
      folder = await mkdtemp(join(tmpdir(), 'genenv-slurm-'));
      cluster = await start(folder);
    });
    afterAll(async () => {
      await cluster[Symbol.asyncDispose]();
      await rm(folder, { recursive: true, force: true });
    });
    const parts = clusterParts(() => cluster);
    const { launcher, busy, watched, submissionOf } = parts;

    it('a job is submitted once, however often it is asked for', async () => {
      const job = await trial({ waits_for: 'go' });
      const submission = submissionOf(job);
      await writeFile(join(job.work.path, 'job.json'), jobFile);
      const first = await launcher().submit(submission);
      expect(first).toMatchObject({ type: 'slurm', fence: 1, id: expect.stringMatching(/^\d+$/) as string });
      expect(await launcher().submit(submission)).toMatchObject({ id: first.id });
      // A worker that never heard the answer knows its name alone.
      expect((await launcher().state(plannedHandle('slurm', submission))).state).not.toBe('ended');
      await job.write('go', '');
      await expect
        .poll(() => launcher().state(first), patience)
        .toEqual({ state: 'ended', reason: 'COMPLETED', code: 0 });
      expect(await launcher().submit(submission)).toMatchObject({ id: first.id });
      expect(await job.starts()).toHaveLength(1);
    });

    it('a number alone names no job: another claim, or another job that got it, is not taken for it', async () => {
      const blocker = await busy();
      const stranger: JobHandle = { ...plannedHandle('slurm', submissionOf(await trial())), id: blocker.id };
      expect(await launcher().state({ ...stranger, key: 'b'.repeat(64) })).toEqual({ state: 'ended' });
      expect(await launcher().cancel({ ...stranger, key: 'b'.repeat(64) }, 0)).toBe(false);
      expect((await launcher().state(blocker.handle)).state).toBe('running');
      await blocker.end();
    });

    it('a worker that is killed while its job waits leaves it to the next, which finds its result', async () => {
      const blocker = await busy();
      const job = await trial();
      const first = watched(job);
      await expect.poll(() => first.queued.at(-1), patience).toBe('Resources, 1');
      await first.kill();
      const second = watched(job);
      await expect.poll(() => second.queued.length, patience).toBeGreaterThan(0);
      // The clock of Slurm counts seconds.
      const submitted = Date.now();
      await expect.poll(() => Date.now() - submitted, patience).toBeGreaterThan(2_500);
      await blocker.end();
      expect(await second.running).toMatchObject({ result: { steps_done: 3 } });
      expect((await job.starts()).map(({ fence }) => fence)).toEqual([1]);
      expect([...first.waits, ...second.waits]).toHaveLength(1);
      expect(second.waits[0]).toBeGreaterThanOrEqual(1);
      expect(await launchOf(job)).toContain('"type": "slurm"');
    });

    it('a worker that is killed while its job runs leaves it to the next', async () => {
      const job = await trial({ waits_for: 'go' });
      const first = watched(job);
      await expect.poll(() => job.progress.at(-1)?.step, patience).toBe(1);
      await first.kill();
      const second = watched(job);
      await job.write('go', '');
      expect(await second.running).toMatchObject({ result: { steps_done: 3 } });
      expect(await job.starts()).toHaveLength(1);
    });

    it('a job that waits is cancelled, and its run can be resumed', async () => {
      const blocker = await busy();
      const job = await trial();
      const first = watched(job, { detach: () => false });
      await expect.poll(() => first.queued.length, patience).toBeGreaterThan(0);
      await first.kill();
      const handle = { ...plannedHandle('slurm', submissionOf(job)), id: null };
      expect((await launcher().state(handle)).state).toBe('ended');
      await blocker.end();
      expect(await watched(job).running).toMatchObject({ result: { steps_done: 3 } });
      expect((await job.starts()).map(({ fence }) => fence)).toEqual([2]);
    });

    it('a job that runs writes a checkpoint when it is cancelled', async () => {
      const job = await trial({ waits_for: 'go' });
      const first = watched(job, { detach: () => false });
      await expect.poll(() => job.progress.at(-1)?.step, patience).toBe(1);
      await first.kill();
      expect(JSON.parse((await job.file('exit.json')) ?? '{}')).toMatchObject({ reason: 'terminated' });
    });

    it.each([
      ['is told before its pre-emption', ['--batch', '--signal=TERM']],
      ['somebody ends with scancel', []],
    ])('a job that %s is submitted again under the next claim', async (_, options) => {
      const job = await trial({ waits_for: 'go' });
      const first = watched(job);
      await expect.poll(() => job.progress.at(-1)?.step, patience).toBe(1);
      await slurmCommand(cluster, 'scancel', ...options, await numberOf(job));
      await expect.poll(() => job.starts(), patience).toHaveLength(2);
      await job.write('go', '');
      expect(await first.running).toMatchObject({ result: { steps_done: 3 } });
      expect((await job.starts()).map(({ fence }) => fence)).toEqual([1, 2]);
    });

    it('a job that dies without a word continues in the next attempt', async () => {
      const job = await trial({ waits_for: 'go' });
      const first = watched(job);
      await expect.poll(() => job.progress.at(-1)?.step, patience).toBe(1);
      process.kill(job.progress.at(-1)!.pid, 'SIGKILL');
      const failure = await failureOf(first.running);
      expect(failure, String(failure)).toMatchObject({
        name: 'TrainerFailed',
        message: expect.stringMatching(/died without a word \(Slurm job \d+, FAILED\)/) as string,
      });
      await job.write('go', '');
      expect(await watched(job).running).toMatchObject({ result: { steps_done: 3 } });
      expect((await job.starts()).map(({ fence }) => fence)).toEqual([1, 2]);
    });

    it('a controller that is away ends no job, and none is submitted twice', async () => {
      const job = await trial({ waits_for: 'go' });
      const first = watched(job);
      await expect.poll(() => job.progress.at(-1)?.step, patience).toBe(1);
      await first.kill();
      await cluster.controllerAway();
      expect(await launcher().state(plannedHandle('slurm', submissionOf(job)))).toMatchObject({
        state: 'unknown',
        reason: expect.stringContaining('Unable to contact slurm controller') as string,
      });
      await expect(launcher().submit({ ...submissionOf(job), fence: 2 })).rejects.toThrow(
        /squeue failed: .*; see docs\/slurm\.md/s,
      );
      const second = watched(job);
      await cluster.controllerBack();
      await job.write('go', '');
      expect(await second.running).toMatchObject({ result: { steps_done: 3 } });
      expect(await job.starts()).toHaveLength(1);
    });
    it('a job that waits keeps its place while the controller is away, which is an outage', async () => {
      const blocker = await busy();
      const job = await trial();
      const outage = {
        name: 'ModelUnavailable',
        server: 'Slurm',
        reason: expect.stringContaining('Unable to contact slurm controller') as string,
      };
      const first = watched(job, { stallMs: 4_000 });
      await expect.poll(() => first.queued.length, patience).toBeGreaterThan(0);
      await cluster.controllerAway();
      expect(await failureOf(first.running)).toMatchObject(outage);
      expect(await failureOf(watched(job, { stallMs: 4_000 }).running)).toMatchObject(outage);
      await cluster.controllerBack();
      const second = watched(job);
      await expect.poll(() => second.queued.length, patience).toBeGreaterThan(0);
      await blocker.end();
      expect(await second.running).toMatchObject({ result: { steps_done: 3 } });
      expect((await job.starts()).map(({ fence }) => fence)).toEqual([1]);
    });
    more(parts);
  });
}

/** What a work folder needs for a job that is submitted by hand. */
const jobFile = JSON.stringify({
  input_hash: 'a'.repeat(64),
  fence: 1,
  settings: { tokens_per_micro_batch: 1 },
});

const launchOf = ({ work }: Trial): Promise<string> => readFile(join(work.path, 'launch.json'), 'utf8');

async function numberOf(job: Trial): Promise<string> {
  return (JSON.parse(await launchOf(job)) as { id: string }).id;
}

function clusterParts<Cluster extends TestCluster>(cluster: () => Cluster) {
  const launcher = (cpus = 1): SlurmLauncher =>
    new SlurmLauncher({
      settings: { type: 'slurm' },
      operatorArguments: [],
      cpus,
      command: ({ folder }) => ({ words: ['python3', scriptFile, folder], env: cluster().env }),
      ...{ pollMs: 200, settleMs: 2_000 },
    });
  const submissionOf = (job: Trial) => ({ key: job.key, fence: 1, folder: job.work.path });

  /** A job of somebody else's that has the whole node. */
  async function busy() {
    const job = await trial({ waits_for: 'go' });
    await writeFile(join(job.work.path, 'job.json'), jobFile);
    const handle = await launcher(2).submit(submissionOf(job));
    await expect.poll(async () => (await launcher().state(handle)).state, patience).toBe('running');
    const end = async (): Promise<void> => {
      await job.write('go', '');
      await expect.poll(async () => (await launcher().state(handle)).state, patience).toBe('ended');
    };
    onTestFinished(async () => {
      await launcher().cancel(handle, 0);
    });
    return { handle, id: handle.id, end };
  }

  /** A worker that watches a job; `kill` leaves the job as a worker does that is killed. */
  function watched(
    job: Trial,
    { detach = () => true, stallMs = 60_000 }: { detach?: () => boolean; stallMs?: number } = {},
  ) {
    const queued: string[] = [];
    const waits: number[] = [];
    const controller = new AbortController();
    const running = job.run({
      launcher: launcher(2),
      signal: controller.signal,
      detach,
      stallMs,
      onQueued: ({ reason, position }) => queued.push(`${reason}, ${position}`),
      onWaited: (seconds) => {
        waits.push(seconds);
        return Promise.resolve();
      },
    });
    const kill = async (): Promise<void> => {
      controller.abort(new Error('killed'));
      await failureOf(running);
    };
    running.catch(() => undefined);
    onTestFinished(kill);
    return { queued, waits, running, kill };
  }
  return { cluster, launcher, busy, watched, submissionOf };
}
