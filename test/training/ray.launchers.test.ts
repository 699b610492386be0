/** Training jobs on a real Ray cluster: what the launcher takes for granted of it. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ModelUnavailable } from '../../src/inference/policy-client.ts';
import { unseal } from '../../src/training/job-folder.ts';
import type { JobHandle, JobState } from '../../src/training/launcher.ts';
import { RayJobs } from '../../src/training/ray-jobs.ts';
import { RayLauncher } from '../../src/training/ray-launcher.ts';
import { recordedAnswers } from '../../test-support/fake-ray.ts';
import { RayHead, rayMissing } from '../../test-support/ray-head.ts';
import { python, scriptFile, trial } from './job-trial.ts';
import type { Trial } from './job-trial.ts';

const MINUTES = 60_000;
const patience = { timeout: 4 * MINUTES, interval: 250 };

if (rayMissing !== undefined) console.warn(`skipped: ${rayMissing}`);

describe.skipIf(rayMissing !== undefined)('training jobs on Ray', { timeout: 10 * MINUTES }, () => {
  let head: RayHead;
  beforeAll(async () => {
    head = await RayHead.start();
  }, 5 * MINUTES);
  afterAll(() => head[Symbol.asyncDispose](), 5 * MINUTES);

  const launcher = (cpus = 1): RayLauncher =>
    new RayLauncher(
      () => ({ baseUrl: head.baseUrl, apiKey: undefined }),
      { cpus, gpus: 0 },
      (folder) => ({
        words: [python.path, scriptFile, folder],
        variables: { PYTHONSAFEPATH: '1' },
      }),
    );

  /** A worker that watches a job; `die` leaves the job as a killed worker does. */
  function watch(job: Trial) {
    const queued: string[] = [];
    const waits: number[] = [];
    const controller = new AbortController();
    let detaches = true;
    const running = job.run({
      launcher: launcher(),
      signal: controller.signal,
      detach: () => detaches,
      stallMs: 5 * MINUTES,
      onQueued: ({ reason }) => queued.push(reason),
      onWaited: (seconds) => {
        waits.push(seconds);
        return Promise.resolve();
      },
    });
    running.catch(() => undefined);
    const end = async (isDeath: boolean): Promise<void> => {
      detaches = isDeath;
      controller.abort(new Error('stopped'));
      await running.catch(() => undefined);
    };
    return { queued, waits, running, die: () => end(true), stop: () => end(false) };
  }

  const step = (job: Trial) => expect.poll(() => job.progress.at(-1)?.step, patience);
  const handleOf = async (job: Trial): Promise<JobHandle> => ({
    ...(unseal((await job.file('launch.json')) ?? '') as JobHandle),
    folder: job.work.path,
  });
  const stateOf = (handle: JobHandle): Promise<JobState> => launcher().state(handle);

  it('submitted twice, the second finds the first', async () => {
    const job = await trial({ waits_for: 'go' });
    const worker = watch(job);
    await step(job).toBe(1);
    const handle = await handleOf(job);
    expect(await launcher().submit(handle)).toMatchObject({ id: handle.id });
    expect(await stateOf(handle)).toEqual({ state: 'running' });
    await job.write('go', '');
    expect(await worker.running).toMatchObject({ result: { steps_done: 3 } });
    expect(await job.starts()).toHaveLength(1);
    await expect.poll(() => stateOf(handle), patience).toEqual({ state: 'ended', code: 0 });
    expect(launcher().logs(handle)).toContain(handle.id!);
  });

  it('outlive their worker, queued and running, and wait without a stall', async () => {
    const blocker = await trial({ waits_for: 'go' });
    const first = watch(blocker);
    await step(blocker).toBe(1);
    const job = await trial({ waits_for: 'go' });
    const before = watch(job);
    await expect.poll(() => before.queued.length, patience).toBeGreaterThan(0);
    expect(before.queued[0]).toMatch(/waiting for resources/);
    await before.die();
    await first.die();
    const [second, after] = [watch(blocker), watch(job)];
    await expect.poll(() => after.queued.length, patience).toBeGreaterThan(0);
    await blocker.write('go', '');
    await second.running;
    await step(job).toBe(1);
    await job.write('go', '');
    await after.running;
    expect(await blocker.starts()).toEqual([{ fence: 1, budget: 4096 }]);
    expect(await job.starts()).toEqual([{ fence: 1, budget: 4096 }]);
    expect(after.waits).toHaveLength(1);
  });

  it('checkpoint when they are stopped, and are submitted again under the next claim', async () => {
    const job = await trial({ waits_for: 'go' });
    const worker = watch(job);
    await step(job).toBe(1);
    const handle = await handleOf(job);
    await worker.stop();
    expect(unseal((await job.file('exit.json'))!)).toMatchObject({ reason: 'terminated' });
    expect(await stateOf(handle)).toMatchObject({ state: 'ended' });
    await job.write('go', '');
    await watch(job).running;
    expect((await job.starts()).map(({ fence }) => fence)).toEqual([1, 2]);
  });

  it('leave the queue when they are stopped', async () => {
    const blocker = await trial({ waits_for: 'go' });
    const first = watch(blocker);
    await step(blocker).toBe(1);
    const job = await trial();
    const worker = watch(job);
    await expect.poll(() => worker.queued.length, patience).toBeGreaterThan(0);
    await worker.stop();
    const after = watch(job);
    await blocker.write('go', '');
    await Promise.all([first.running, after.running]);
    expect((await job.starts()).at(-1)).toMatchObject({ fence: 2 });
  });

  it('are submitted again when the head and its node are lost', async () => {
    const job = await trial({ waits_for: 'go' });
    const worker = watch(job);
    await step(job).toBe(1);
    const { port } = head;
    await head.kill();
    await expect(worker.running).rejects.toBeInstanceOf(ModelUnavailable);
    await expect(watch(job).running).rejects.toBeInstanceOf(ModelUnavailable);
    head = await RayHead.start({ RAY_JOB_START_TIMEOUT_SECONDS: '30' }, port);
    await job.write('go', '');
    await watch(job).running;
    expect((await job.starts()).map(({ fence }) => fence)).toEqual([1, 2]);
  });

  it('that wait longer than Ray lets them stay in the queue', async () => {
    const { key, fence, folder } = { key: 'c'.repeat(64), fence: 1, folder: (await trial()).work.path };
    const tooLarge = launcher(2);
    const handle = await tooLarge.submit({ key, fence, folder });
    const reasons = new Set<string>();
    await expect
      .poll(async () => {
        const state = await tooLarge.state(handle);
        if (state.state !== 'queued') return state;
        reasons.add(state.reason);
        return [...reasons].some((reason) => reason.startsWith('submitted again'));
      }, patience)
      .toBe(true);
    expect(await tooLarge.cancel(handle, 0)).toBe(true);
  });
});

describe.skipIf(rayMissing !== undefined)('recorded answers of Ray', { timeout: 10 * MINUTES }, () => {
  let head: RayHead;
  beforeAll(async () => {
    head = await RayHead.start({ RAY_JOB_START_TIMEOUT_SECONDS: '60' });
  }, 5 * MINUTES);
  afterAll(() => head[Symbol.asyncDispose](), 5 * MINUTES);

  it('are those of the real one', async () => {
    const answers: Record<string, { status: number; body: string }> = {};
    const ask = async (name: string, method: string, path: string, body?: object): Promise<string> => {
      const { default: http } = await import('node:http');
      const answer = await new Promise<{ status: number; body: string }>((resolve, reject) => {
        const request = http.request(`${head.baseUrl}/api/jobs/${path}`, { method }, (response) => {
          let text = '';
          response.on('data', (part: Buffer) => (text += part.toString()));
          response.on('end', () => resolve({ status: response.statusCode!, body: text }));
        });
        request.on('error', reject).end(body && JSON.stringify(body));
      });
      answers[name] = answer;
      return answer.body;
    };
    const submit = (id: string, entrypoint: string) => ({
      submission_id: id,
      entrypoint,
      entrypoint_num_cpus: 1,
      runtime_env: { env_vars: { RAY_JOB_STOP_WAIT_TIME_S: '20' } },
    });
    const jobs = new RayJobs({ baseUrl: head.baseUrl, apiKey: undefined });
    const status = (id: string) => expect.poll(async () => (await jobs.find(id))?.status, patience);
    await ask('submitted', 'POST', '', submit('one', 'exec sleep 600'));
    await status('one').toBe('RUNNING');
    await ask('running', 'GET', 'one');
    await ask('duplicate', 'POST', '', submit('one', 'exec sleep 600'));
    await ask('submitted', 'POST', '', submit('two', 'exec true'));
    await ask('pending', 'GET', 'two');
    await ask('not ended', 'DELETE', 'two');
    await ask('stop', 'POST', 'one/stop');
    await status('one').toBe('STOPPED');
    await ask('stopped', 'GET', 'one');
    await status('two').toBe('SUCCEEDED');
    await ask('succeeded', 'GET', 'two');
    await ask('removed', 'DELETE', 'two');
    await ask('missing', 'GET', 'two');
    await ask('submitted', 'POST', '', submit('three', 'exit 75'));
    await status('three').toBe('FAILED');
    await ask('failed', 'GET', 'three');
    const refused = await fetch(`${head.baseUrl}/api/jobs/`, { method: 'POST', body: '{}' });
    answers.browser = { status: refused.status, body: await refused.text() };
    for (const [name, answer] of Object.entries(answers)) {
      const recorded = recordedAnswers[name]!;
      expect([name, answer.status]).toEqual([name, recorded.status]);
      if (typeof recorded.body === 'string') {
        const [line = ''] = recorded.body.split('\n').slice(-3);
        expect(answer.body).toMatch(asPattern(recorded.body.includes('\n') ? line : recorded.body));
      } else {
        const real = JSON.parse(answer.body) as Record<string, unknown>;
        expect(Object.keys(real)).toEqual(expect.arrayContaining(Object.keys(recorded.body as object)));
        const { status: state, error_type: type, driver_exit_code: code } = recorded.body as typeof real;
        if (state !== undefined)
          expect(real).toMatchObject({ status: state, error_type: type, driver_exit_code: code });
      }
    }
  });
});

const asPattern = (text: string): RegExp =>
  new RegExp(
    text
      .replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&')
      .replaceAll('ID', '\\w+')
      .replaceAll('PENDING', '\\w+'),
  );
