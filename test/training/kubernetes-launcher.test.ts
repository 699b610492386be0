import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { parseKubernetes, readKubernetes } from '../../src/config/kubernetes.ts';
import type { KubernetesSettings } from '../../src/config/kubernetes.ts';
import { ModelUnavailable } from '../../src/inference/policy-client.ts';
import { KubernetesLauncher } from '../../src/training/kubernetes-launcher.ts';
import { kubernetesName } from '../../src/training/kubernetes-objects.ts';
import { plannedHandle, TrainerUnavailable } from '../../src/training/launcher.ts';
import { FakeKubernetes } from '../../test-support/fake-kubernetes.ts';
import { temporaryFolder } from '../store/temporary-folder.ts';

const trainer = { processes: 1, variables: { GENENV_MODELS: '/models' } };

let cluster: FakeKubernetes;
let settings: KubernetesSettings;
let folder: string;
beforeEach(async () => {
  cluster = await FakeKubernetes.start();
  folder = await temporaryFolder();
  const kubeconfig = cluster.kubeconfig(folder);
  const file = { namespace: 'genenv', image: 'trainer', claim: 'store', mountPath: '/store', kubeconfig };
  settings = parseKubernetes(JSON.stringify(file), 'kubernetes.json');
});
afterEach(async () => {
  await cluster[Symbol.asyncDispose]();
});

const launcher = (fields: Partial<KubernetesSettings> = {}) =>
  new KubernetesLauncher(() => ({ ...settings, ...fields }), trainer);
const submission = (fence = 1) => ({ key: 'ab'.repeat(32), fence, folder });
const nameOf = (fence = 1) => kubernetesName(submission(fence));
const handle = (fence = 1) => ({ ...plannedHandle('kubernetes', submission(fence)), id: nameOf(fence) });
const failureOf = (running: Promise<unknown>): Promise<unknown> => running.catch((error: unknown) => error);
const notFoundOfProxy = { status: 404, body: '<h1>Not Found</h1>' };

describe('a job of Kubernetes', () => {
  it('is created once, however often it is submitted, and with the key of the kubeconfig', async () => {
    expect(await launcher().submit(submission())).toMatchObject({ type: 'kubernetes', id: nameOf() });
    expect(await launcher().submit(submission())).toMatchObject({ id: nameOf() });
    expect([...cluster.jobs.keys()]).toEqual([nameOf()]);
    expect(new Set(cluster.keys)).toEqual(new Set(['Bearer token-of-the-worker']));
  });

  it('whose answer was lost is an outage, and is found when it is submitted again', async () => {
    cluster.losesAnswer = true;
    expect(await failureOf(launcher().submit(submission()))).toBeInstanceOf(ModelUnavailable);
    cluster.losesAnswer = false;
    expect(await launcher().state(handle())).toMatchObject({ state: 'queued' });
    await launcher().submit(submission());
    expect(cluster.jobs.size).toBe(1);
  });

  it('of an earlier claim is deleted before the next: Kueue might start it again', async () => {
    await launcher({ queue: 'gpu' }).submit(submission(1));
    await launcher({ queue: 'gpu' }).submit({ ...submission(1), folder: `${folder}/other` });
    await launcher({ queue: 'gpu' }).submit(submission(2));
    expect([...cluster.jobs.keys()]).toEqual([
      kubernetesName({ ...submission(1), folder: `${folder}/other` }),
      nameOf(2),
    ]);
  });

  it('is queued, runs and ends as its Job and pod say', async () => {
    await launcher({ queue: 'gpu' }).submit(submission());
    expect(await launcher().state(handle())).toMatchObject({
      state: 'queued',
      reason: expect.stringContaining('suspended') as string,
    });
    cluster.jobs.get(nameOf())!.spec.suspend = false;
    cluster.setPod(nameOf(), { phase: 'Running' });
    expect(await launcher().state(handle())).toEqual({ state: 'running' });
    cluster.endJob(nameOf(), 75);
    expect(await launcher().state(handle())).toEqual({ state: 'ended', code: 75 });
    cluster.jobs.clear();
    expect(await launcher().state(handle())).toEqual({ state: 'ended' });
  });

  it('is deleted with its pod, which gets its time, or none', async () => {
    await launcher().submit(submission());
    expect(await launcher().cancel(handle(), 60_000)).toBe(true);
    expect(await launcher().cancel(handle(), 60_000)).toBe(false);
    await launcher().submit(submission());
    cluster.setPod(nameOf(), { phase: 'Running' });
    expect(await launcher().cancel(handle(), 0)).toBe(true);
    expect(cluster.pods.size).toBe(0);
  });

  it('on a lost node has ended once it is deleted, though its pod stays', async () => {
    await launcher().submit(submission());
    cluster.setPod(nameOf(), { phase: 'Running' });
    expect(await launcher().cancel(handle(), 1)).toBe(true);
    expect(cluster.jobs.size).toBe(1);
    expect(await launcher().state(handle())).toEqual({ state: 'ended' });
    await launcher().submit(submission(2));
    expect(await launcher().state(handle(2))).toMatchObject({ state: 'queued' });
  });

  it('has a command for its log, and a name', async () => {
    const { kubeconfig = '' } = settings;
    const submitting = launcher({ context: 'test' });
    expect(submitting.describe(handle())).toBe(`Kubernetes job NAMESPACE/${nameOf()}`);
    await submitting.submit(submission());
    expect(submitting.logs(handle())).toBe(
      `kubectl --kubeconfig ${kubeconfig} --context test --namespace genenv logs job/${nameOf()}`,
    );
    expect(submitting.describe(handle())).toBe(`Kubernetes job genenv/${nameOf()}`);
  });
});

describe('an API server', () => {
  it('that is away ends no job: it is unknown, and says which outage that is', async () => {
    await launcher().submit(submission());
    const back = await cluster.goAway();
    const watching = launcher();
    expect(await watching.state(handle())).toMatchObject({
      state: 'unknown',
      outage: { name: 'ModelUnavailable', reason: 'connection refused' },
    });
    expect(await watching.cancel(handle(), 60_000)).toBe(false);
    expect(await failureOf(watching.submit(submission()))).toBeInstanceOf(ModelUnavailable);
    await back();
    expect(await watching.state(handle())).toMatchObject({ state: 'queued' });
  });

  it.each([
    [notFoundOfProxy],
    [{ status: 503, body: 'no healthy upstream' }],
    [{ status: 401, body: '{"kind":"Status","reason":"Unauthorized"}' }],
    [{ status: 200, body: 'not JSON' }],
    [{ status: 200, body: '{"metadata": {}}' }],
    [{ status: 403, body: '{"kind":"Status","reason":"Forbidden"}' }],
  ])('that answers %j says nothing of a job, which is an outage', async (answer) => {
    cluster.instead = answer;
    expect(await launcher().state(handle())).toMatchObject({
      state: 'unknown',
      outage: { name: 'ModelUnavailable', server: 'the Kubernetes API server' },
    });
  });

  it('that refuses a job says why, and it is tried again', async () => {
    const refusal = (message: string) => {
      const body = JSON.stringify({ kind: 'Status', reason: 'Forbidden', message });
      cluster.instead = { status: 403, body };
      return failureOf(launcher().submit(submission()));
    };
    const message = 'jobs.batch is forbidden: User "worker" cannot create resource "jobs"';
    const error = await refusal(message);
    expect(error).toBeInstanceOf(TrainerUnavailable);
    expect((error as Error).message).toContain(message);
    // A limit of the site passes, and costs no attempt.
    expect(await refusal('jobs.batch is forbidden: exceeded quota: gpus')).toBeInstanceOf(ModelUnavailable);
  });

  it('whose settings are missing or wrong is waited for, and its jobs keep their names', async () => {
    let read = () => settings;
    const watching = new KubernetesLauncher(() => read(), trainer);
    await watching.submit(submission());
    read = () => readKubernetes(`${folder}/none.json`);
    const outage = {
      name: 'ModelUnavailable',
      reason: expect.stringContaining('none.json cannot be read (ENOENT)') as string,
    };
    expect(await failureOf(watching.submit(submission(2)))).toMatchObject(outage);
    // A file that is away for a moment does not end the watch of a job that writes progress.
    expect(await watching.state(handle())).toMatchObject({ state: 'unknown', outage });
    expect(watching.describe(handle())).toBe(`Kubernetes job genenv/${nameOf()}`);
    expect(await watching.cancel(handle(), 1)).toBe(false);
  });

  it('whose kubeconfig is missing is waited for', async () => {
    const error = await failureOf(launcher({ kubeconfig: `${folder}/none` }).submit(submission()));
    expect(error).toBeInstanceOf(ModelUnavailable);
    const wrong = await failureOf(launcher({ context: 'none' }).submit(submission()));
    expect(wrong).toMatchObject({ reason: 'has no context none' });
  });
});
