import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { EndpointRefused } from '../../src/inference/endpoints.ts';
import { ModelUnavailable } from '../../src/inference/policy-client.ts';
import { plannedHandle } from '../../src/training/launcher.ts';
import { rayId, RayLauncher } from '../../src/training/ray-launcher.ts';
import { FakeRay } from '../../test-support/fake-ray.ts';
import { temporaryFolder } from '../store/temporary-folder.ts';

let ray: FakeRay;
let folder: string;
beforeEach(async () => {
  ray = await FakeRay.start();
  folder = await temporaryFolder();
});
afterEach(async () => {
  await ray[Symbol.asyncDispose]();
});

const launcher = (apiKey?: string) =>
  new RayLauncher(
    () => ({ baseUrl: ray.baseUrl, apiKey }),
    { cpus: 2, gpus: 1 },
    (path) => ({
      words: ['/opt/a python', '-m', 'genenv_trainer', 'job', path],
      variables: { PYTHONPATH: '/opt/trainer' },
    }),
  );
const submission = (fence = 1) => ({ key: 'ab'.repeat(32), fence, folder });
const handle = (fence = 1) => ({ ...plannedHandle('ray', submission(fence)), id: rayId(submission(fence)) });
const failureOf = (running: Promise<unknown>): Promise<unknown> => running.catch((error: unknown) => error);

describe('a job of Ray', () => {
  it('is submitted under an id of key, claim and folder, with its resources', async () => {
    const { id } = await launcher('s3cret-key').submit(submission(3));
    expect(id).toMatch(/^genenv-abababababab-3-[0-9a-f]{8}$/);
    expect(ray.submissions).toEqual([
      {
        submission_id: id,
        entrypoint: `exec '/opt/a python' -m genenv_trainer job ${folder}`,
        entrypoint_num_cpus: 2,
        entrypoint_num_gpus: 1,
        runtime_env: { env_vars: { PYTHONPATH: '/opt/trainer', RAY_JOB_STOP_WAIT_TIME_S: '20' } },
      },
    ]);
    expect(ray.keys).toEqual(['Bearer s3cret-key']);
    expect(rayId({ ...submission(3), folder: '/another' })).not.toBe(id);
  });

  it('is found by who submits it again, whether the answer was lost or it is there already', async () => {
    ray.losesAnswer = true;
    const { id } = await launcher().submit(submission());
    ray.losesAnswer = false;
    ray.jobs.set(id!, 'running');
    expect((await launcher().submit(submission())).id).toBe(id);
    expect(ray.submissions).toHaveLength(1);
  });

  it.each([
    ['pending', { state: 'queued', reason: expect.stringMatching(/waiting for resources/) as string }],
    ['running', { state: 'running' }],
    ['succeeded', { state: 'ended', code: 0 }],
    ['failed', { state: 'ended', code: 75 }],
    ['stopped', { state: 'ended' }],
  ])('that is %s', async (state, expected) => {
    ray.jobs.set(handle().id, state);
    expect(await launcher().state(handle())).toEqual(expected);
  });

  it('that Ray does not know has ended; a 404 of a proxy says nothing', async () => {
    expect(await launcher().state(handle())).toEqual({ state: 'ended' });
    ray.instead = { status: 404, body: '<h1>Not Found</h1>' };
    expect(await launcher().state(handle())).toMatchObject({
      state: 'unknown',
      reason: expect.stringContaining('answered 404') as string,
    });
  });

  it('that waited so long that Ray ended it waits again, under its id', async () => {
    ray.jobs.set(handle().id, 'waited too long');
    expect(await launcher().state(handle())).toMatchObject({ state: 'queued' });
    expect(ray.submissions.map(({ submission_id: id }) => id)).toEqual([handle().id]);
    expect(await launcher().state(handle())).toMatchObject({ state: 'queued' });
    expect(ray.submissions).toHaveLength(1);
  });

  it('that could not be submitted again has not ended, and is submitted when Ray takes jobs', async () => {
    const watching = launcher();
    ray.jobs.set(handle().id, 'waited too long');
    ray.isFull = true;
    for (let look = 0; look < 2; look++)
      expect(await watching.state(handle())).toMatchObject({ state: 'unknown' });
    expect(ray.jobs.size).toBe(0);
    ray.isFull = false;
    expect(await watching.state(handle())).toMatchObject({ state: 'queued' });
    expect(await watching.state(handle())).toMatchObject({ state: 'queued' });
    ray.jobs.clear();
    expect(await watching.state(handle())).toEqual({ state: 'ended' });
  });

  it('that was stopped while it waited is not submitted again when Ray has ended it', async () => {
    ray.jobs.set(handle().id, 'pending');
    expect(await launcher().cancel(handle(), 60_000)).toBe(true);
    ray.jobs.set(handle().id, 'waited too long');
    expect(await launcher().state(handle())).toEqual({ state: 'ended' });
    expect(ray.submissions).toEqual([]);
    await launcher().submit(submission(2));
    expect(await launcher().state(handle(2))).toMatchObject({ state: 'queued' });
    expect(ray.submissions).toHaveLength(1);
  });

  it('that is stopped has ended, also if it waits, until its folder has another claim', async () => {
    ray.jobs.set(handle().id, 'running');
    expect(await launcher().cancel(handle(), 60_000)).toBe(true);
    expect(await launcher().state(handle())).toEqual({ state: 'ended' });
    ray.jobs.set(handle().id, 'pending');
    expect(await launcher().cancel(handle(), 60_000)).toBe(true);
    expect(await launcher().state(handle())).toEqual({ state: 'ended' });
    await launcher().submit(submission(2));
    expect(await launcher().state(handle(2))).toMatchObject({ state: 'queued' });
    ray.jobs.clear();
    expect(await launcher().cancel(handle(2), 60_000)).toBe(false);
  });

  it('has a command for its log, and a name', () => {
    expect(launcher().logs(handle())).toBe(`ray job logs --address ${ray.baseUrl} ${handle().id}`);
    expect(launcher().describe(handle())).toBe(`Ray job ${handle().id}`);
  });
});

describe('a cluster that is away', () => {
  it('is an outage, which the workflow waits for, when a job is submitted', async () => {
    const back = await ray.goAway();
    const error = await failureOf(launcher().submit(submission()));
    await back();
    expect(error).toBeInstanceOf(ModelUnavailable);
    expect(error).toMatchObject({ server: ray.baseUrl, reason: 'connection refused' });
  });

  it('does not end a job that it was asked for: it is unknown, and says which outage that is', async () => {
    const back = await ray.goAway();
    const watching = launcher();
    expect(await watching.state(handle())).toMatchObject({
      state: 'unknown',
      outage: { name: 'ModelUnavailable', server: ray.baseUrl, reason: 'connection refused' },
    });
    expect(await watching.cancel(handle(), 60_000)).toBe(false);
    await back();
    ray.jobs.set(handle().id, 'running');
    expect(await watching.state(handle())).toEqual({ state: 'running' });
  });

  it('that refuses the key is one too, and its answer shows no key', async () => {
    ray.instead = { status: 401, body: 'wrong token Bearer s3cret-key' };
    const error = await failureOf(launcher('s3cret-key').submit(submission()));
    expect(error).toMatchObject({ reason: 'it refuses the key' });
    ray.instead = { status: 502, body: 'upstream said s3cret-key' };
    expect(JSON.stringify(await launcher('s3cret-key').state(handle()))).not.toContain('s3cret');
  });

  it('that the operator does not permit is never asked', async () => {
    const refused = new RayLauncher(
      () => {
        throw new EndpointRefused('http://ray.example', 'the list of this worker does not permit it');
      },
      { cpus: 1, gpus: 0 },
      () => ({ words: ['true'], variables: {} }),
    );
    expect(await failureOf(refused.submit(submission()))).toBeInstanceOf(EndpointRefused);
    expect(await refused.state(handle())).toMatchObject({
      state: 'unknown',
      outage: expect.any(EndpointRefused) as EndpointRefused,
    });
    expect(ray.requests).toEqual([]);
  });

  it('an answer without end is cut off', async () => {
    ray.instead = { status: 200, body: 'x'.repeat(4_000_001) };
    expect(await launcher().state(handle())).toMatchObject({ state: 'unknown' });
  });
});
