/** Training jobs on a real API server, whose controllers and kubelets this test plays. */
import { execFileSync } from 'node:child_process';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { pythonPath } from '../../infra/setup/locations.mjs';
import { parseKubernetes } from '../../src/config/kubernetes.ts';
import type { KubernetesSettings } from '../../src/config/kubernetes.ts';
import { ModelUnavailable } from '../../src/inference/policy-client.ts';
import { KubernetesApi } from '../../src/training/kubernetes-api.ts';
import { KubernetesLauncher } from '../../src/training/kubernetes-launcher.ts';
import { jobManifest, kubernetesName } from '../../src/training/kubernetes-objects.ts';
import { plannedHandle, TrainerUnavailable } from '../../src/training/launcher.ts';
import { KubeApiServer, kubernetesMissing } from '../../test-support/kube-apiserver.ts';
import type { ClusterUser } from '../../test-support/kube-apiserver.ts';
import { read } from '../infra/repository.ts';

const trainer = { processes: 1, variables: { GENENV_MODELS: '/models' } };

const MINUTES = 60_000;
if (kubernetesMissing !== undefined) console.warn(`skipped: ${kubernetesMissing}`);

interface KubernetesObject {
  apiVersion: string;
  kind: string;
  metadata: { name: string };
}

function documents(path: string): KubernetesObject[] {
  const script = 'import json, sys, yaml; json.dump(list(yaml.safe_load_all(sys.stdin)), sys.stdout)';
  const json = execFileSync(pythonPath(), ['-c', script], { input: read(path), encoding: 'utf8' });
  return JSON.parse(json) as KubernetesObject[];
}

const collectionOf = ({ apiVersion, kind }: KubernetesObject): string =>
  `/${apiVersion === 'v1' ? 'api' : 'apis'}/${apiVersion}/namespaces/genenv/${kind.toLowerCase()}s`;

const submission = (fence = 1, folder = '/store/work/x') => ({ key: 'ab'.repeat(32), fence, folder });
const handle = (fence = 1, folder?: string) => ({
  ...plannedHandle('kubernetes', submission(fence, folder)),
  id: kubernetesName(submission(fence, folder)),
});
const failureOf = (running: Promise<unknown>): Promise<unknown> => running.catch((error: unknown) => error);

describe.skipIf(kubernetesMissing !== undefined)(
  'training jobs on Kubernetes',
  { timeout: 5 * MINUTES },
  () => {
    let cluster: KubeApiServer;
    beforeAll(async () => {
      cluster = await KubeApiServer.start();
      const labels = { 'pod-security.kubernetes.io/enforce': 'restricted' };
      await cluster.ask('POST', '/api/v1/namespaces', { metadata: { name: 'genenv', labels } });
      for (const object of documents('infra/kubernetes/base/job-rights.yaml'))
        expect(await cluster.ask('POST', collectionOf(object), object)).toMatchObject({ status: 201 });
    }, 5 * MINUTES);
    afterAll(() => cluster[Symbol.asyncDispose](), 5 * MINUTES);

    const settings = (user: ClusterUser | 'stranger', fields: object = {}): KubernetesSettings =>
      parseKubernetes(
        JSON.stringify({
          ...{ namespace: 'genenv', image: 'registry.example/trainer:1', claim: 'genenv-store' },
          ...{ mountPath: '/store', kubeconfig: cluster.kubeconfig(user), ...fields },
        }),
        'kubernetes.json',
      );
    const launcher = (fields: object = {}, user: ClusterUser | 'stranger' = 'launcher') =>
      new KubernetesLauncher(() => settings(user, fields), trainer);
    const jobs = '/apis/batch/v1/namespaces/genenv/jobs';
    const pods = '/api/v1/namespaces/genenv/pods';

    /** As the Job controller does: the pod of the Job's template. */
    async function createPod(name: string): Promise<void> {
      const { body } = await cluster.ask('GET', `${jobs}/${name}`);
      const { spec } = body as { spec: { template: { metadata: { labels: object }; spec: object } } };
      const labels = { ...spec.template.metadata.labels, 'batch.kubernetes.io/job-name': name };
      const pod = { metadata: { name: `${name}-pod`, labels }, spec: spec.template.spec };
      // The restricted standard of the namespace applies to it.
      expect(await cluster.ask('POST', pods, pod)).toMatchObject({ status: 201 });
    }

    /** As a kubelet or a controller does. */
    async function setStatus(path: string, status: object): Promise<void> {
      const { body } = await cluster.ask('GET', path);
      const answer = await cluster.ask('PUT', `${path}/status`, { ...(body as object), status });
      expect(answer).toMatchObject({ status: 200 });
    }

    it('manifests of infra/kubernetes are accepted as they are, unknown fields refused', async () => {
      const files = ['settings', 'store', 'job-rights', 'job-pods', 'workers'];
      for (const object of files.flatMap((name) => documents(`infra/kubernetes/base/${name}.yaml`))) {
        const name = `dry-${object.metadata.name}`;
        const dry = { ...object, metadata: { ...object.metadata, name } };
        const path = `${collectionOf(object)}?dryRun=All&fieldValidation=Strict`;
        const { status, body } = await cluster.ask('POST', path, dry);
        expect([object.kind, name, status, status === 201 ? '' : body]).toEqual([object.kind, name, 201, '']);
      }
    });

    it('with every setting is valid', async () => {
      const all = settings('launcher', {
        queue: 'gpu-queue',
        resources: { requests: { cpu: '500m' }, limits: { memory: '32Gi', 'nvidia.com/gpu': '1' } },
        tolerations: [
          { key: 'nvidia.com/gpu', operator: 'Exists', effect: 'NoExecute', tolerationSeconds: 60 },
        ],
        nodeSelector: { 'node.kubernetes.io/instance-type': 'gpu-large' },
        serviceAccount: 'jobs',
        imagePullSecrets: ['registry'],
        runAsUser: 1234,
      });
      const manifest = jobManifest(submission(), all, trainer);
      expect(await new KubernetesApi(all).create(manifest, true)).toBe(true);
      const wrong = { ...manifest, specs: {} };
      await expect(new KubernetesApi(all).create(wrong, true)).rejects.toThrow(/unknown field "specs"/);
    });

    it('are created once, by an account with the rights of infra/kubernetes alone', async () => {
      const { id } = await launcher().submit(submission());
      expect(await launcher().submit(submission())).toMatchObject({ id });
      expect(await launcher().state(handle())).toEqual({ state: 'queued', reason: 'it has no pod yet' });
      const refused = await failureOf(launcher({}, 'nobody').submit(submission(1, '/other')));
      expect(refused).toBeInstanceOf(TrainerUnavailable);
      expect((refused as Error).message).toMatch(/jobs\.batch is forbidden/);
      expect(await failureOf(launcher({}, 'stranger').submit(submission()))).toMatchObject({
        name: 'ModelUnavailable',
      });
    });

    it('wait for a node, run and end with the code of their pod', async () => {
      const folder = '/store/work/ends';
      const { id } = await launcher().submit(submission(1, folder));
      await createPod(id!);
      expect(await launcher().state(handle(1, folder))).toEqual({ state: 'queued', reason: 'Pending' });
      const unscheduled = {
        type: 'PodScheduled',
        status: 'False',
        reason: 'Unschedulable',
        message: 'no GPU',
      };
      await setStatus(`${pods}/${id}-pod`, { phase: 'Pending', conditions: [unscheduled] });
      expect(await launcher().state(handle(1, folder))).toEqual({
        state: 'queued',
        reason: 'Unschedulable: no GPU',
      });
      await setStatus(`${pods}/${id}-pod`, { phase: 'Running' });
      expect(await launcher().state(handle(1, folder))).toEqual({ state: 'running' });
      const container = {
        ...{ name: 'trainer', image: 'trainer', imageID: '', ready: false, restartCount: 0 },
        state: { terminated: { exitCode: 75, reason: 'Error' } },
      };
      await setStatus(`${pods}/${id}-pod`, { phase: 'Failed', containerStatuses: [container] });
      const at = new Date().toISOString().replace(/\.\d+/, '');
      const failed = (type: string) => ({
        type,
        status: 'True',
        reason: 'BackoffLimitExceeded',
        message: '',
      });
      const conditions = [failed('FailureTarget'), failed('Failed')];
      await setStatus(`${jobs}/${id}`, { startTime: at, failed: 1, uncountedTerminatedPods: {}, conditions });
      expect(await launcher().state(handle(1, folder))).toEqual({ state: 'ended', code: 75 });
    });

    it('are suspended until Kueue admits them', async () => {
      const folder = '/store/work/kueue';
      const { id } = await launcher({ queue: 'gpu-queue' }).submit(submission(1, folder));
      expect(await launcher().state(handle(1, folder))).toMatchObject({
        state: 'queued',
        reason: 'suspended until its queue admits it',
      });
      const { body } = await cluster.ask('GET', `${jobs}/${id}`);
      const job = body as { spec: object };
      await cluster.ask('PUT', `${jobs}/${id}`, { ...job, spec: { ...job.spec, suspend: false } });
      expect(await launcher().state(handle(1, folder))).toMatchObject({ reason: 'it has no pod yet' });
    });

    it('are deleted with their pods, end then, and give way to the next claim', async () => {
      const folder = '/store/work/deleted';
      const { id } = await launcher().submit(submission(1, folder));
      await createPod(id!);
      // Nobody collects what has a finalizer: as on a lost node, Job and pod stay.
      expect(await launcher().cancel(handle(1, folder), 1)).toBe(true);
      expect(await cluster.ask('GET', `${jobs}/${id}`)).toMatchObject({
        status: 200,
        body: { metadata: { finalizers: ['foregroundDeletion'] } },
      });
      expect(await launcher().state(handle(1, folder))).toEqual({ state: 'ended' });
      await launcher().submit(submission(2, folder));
      expect(await launcher().state(handle(2, folder))).toMatchObject({ state: 'queued' });
      expect(await launcher().cancel(handle(2, folder), 0)).toBe(true);
    });

    it('killed at once lose their pods', async () => {
      const folder = '/store/work/killed';
      const { id } = await launcher().submit(submission(1, folder));
      await createPod(id!);
      expect(await launcher().cancel(handle(1, folder), 0)).toBe(true);
      expect(await cluster.ask('GET', `${pods}/${id}-pod`)).toMatchObject({ status: 404 });
      expect(await launcher().cancel(handle(9, folder), 0)).toBe(false);
    });

    it('of an earlier claim are deleted when the next is submitted', async () => {
      const folder = '/store/work/claims';
      const { id } = await launcher({ queue: 'gpu-queue' }).submit(submission(1, folder));
      await launcher({ queue: 'gpu-queue' }).submit(submission(2, folder));
      expect(await launcher().state(handle(1, folder))).toEqual({ state: 'ended' });
      expect(await cluster.ask('GET', `${jobs}/${id}`)).toMatchObject({
        body: { metadata: { deletionTimestamp: expect.any(String) as string } },
      });
    });

    it('outlive the API server', async () => {
      const folder = '/store/work/outage';
      await launcher().submit(submission(1, folder));
      await cluster.killApi();
      expect(await launcher().state(handle(1, folder))).toMatchObject({ state: 'unknown' });
      expect(await failureOf(launcher().submit(submission(2, folder)))).toBeInstanceOf(ModelUnavailable);
      await cluster.restartApi();
      expect(await launcher().state(handle(1, folder))).toMatchObject({ state: 'queued' });
    });
  },
);
