import { describe, expect, it } from 'vitest';
import { parseKubernetes } from '../../src/config/kubernetes.ts';
import {
  jobManifest,
  jobSchema,
  kubernetesName,
  kubernetesState,
  podSchema,
} from '../../src/training/kubernetes-objects.ts';
import { schemaProblems } from '../../test-support/kubernetes-schemas.ts';

const trainer = { processes: 1, variables: { GENENV_MODELS: '/models' } };

const submission = { key: 'ab'.repeat(32), fence: 3, folder: '/var/lib/genenv/store/work/x' };
const settings = (fields: object = {}) =>
  parseKubernetes(
    JSON.stringify({
      ...{ namespace: 'genenv', image: 'registry.example/trainer:1', claim: 'store' },
      ...{ mountPath: '/var/lib/genenv', ...fields },
    }),
    'kubernetes.json',
  );
const everySetting = {
  queue: 'gpu-queue',
  resources: { requests: { cpu: '500m' }, limits: { memory: '32Gi', 'nvidia.com/gpu': '1' } },
  tolerations: [{ key: 'nvidia.com/gpu', operator: 'Exists', effect: 'NoSchedule', tolerationSeconds: 60 }],
  nodeSelector: { 'node.kubernetes.io/instance-type': 'gpu-large' },
  serviceAccount: 'jobs',
  priorityClass: 'low',
  imagePullSecrets: ['registry'],
  runAsUser: 1234,
};

describe('the Job of a claim', () => {
  it.each([{}, everySetting])('fits the schema of Kubernetes: %j', (fields) => {
    const manifest = jobManifest(submission, settings(fields), trainer);
    expect(schemaProblems(manifest)).toEqual([]);
    expect(schemaProblems({ ...manifest, specs: {} })).toHaveLength(1);
  });

  it('has one pod, which runs the trainer once and may do nothing else', () => {
    const manifest = jobManifest(submission, settings(everySetting), trainer);
    expect(manifest).toMatchObject({
      metadata: { labels: { 'kueue.x-k8s.io/queue-name': 'gpu-queue', 'genenv.io/fence': '3' } },
      spec: {
        ...{ backoffLimit: 0, parallelism: 1, suspend: true, podReplacementPolicy: 'Failed' },
        template: {
          spec: {
            restartPolicy: 'Never',
            automountServiceAccountToken: false,
            securityContext: { runAsNonRoot: true, runAsUser: 1234 },
            containers: [
              {
                image: 'registry.example/trainer:1',
                command: ['/usr/local/bin/python', '-m', 'genenv_trainer', 'job', submission.folder],
                env: [{ name: 'GENENV_MODELS', value: '/models' }],
                securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] } },
              },
            ],
          },
        },
      },
    });
    expect(jobManifest(submission, settings(), trainer)).not.toHaveProperty('spec.suspend');
  });

  it('of several processes runs torchrun: in one pod if it holds them, else in pods that meet at the first', () => {
    const shared = { processes: 4, variables: {} };
    const containerOf = (manifest: object) =>
      (manifest as { spec: { template: { spec: { containers: { command: string[] }[] } } } }).spec.template
        .spec.containers[0]!;
    const alone = jobManifest(submission, settings({ processesPerPod: 8 }), shared);
    expect(schemaProblems(alone)).toEqual([]);
    expect(alone).toMatchObject({ spec: { completions: 1, parallelism: 1 } });
    expect(containerOf(alone).command).toEqual([
      ...['/usr/local/bin/python', '-m', 'torch.distributed.run', '--nproc-per-node=4', '--nnodes=1'],
      ...['--max-restarts=0', '--standalone', '-m', 'genenv_trainer', 'job', submission.folder],
    ]);
    const spread = jobManifest(submission, settings({ processesPerPod: 2 }), shared);
    expect(schemaProblems(spread)).toEqual([]);
    expect(spread).toMatchObject({
      spec: {
        ...{ completions: 2, parallelism: 2, completionMode: 'Indexed', backoffLimit: 0 },
        template: { spec: { subdomain: 'genenv-jobs' } },
      },
    });
    expect(containerOf(spread).command.slice(3, -4)).toEqual([
      ...['--nproc-per-node=2', '--nnodes=2', '--max-restarts=0', '--node-rank=$(JOB_COMPLETION_INDEX)'],
      ...[`--master-addr=${kubernetesName(submission)}-0.genenv-jobs`, '--master-port=29400'],
      '--rdzv-conf=timeout=604800',
    ]);
    expect(() => jobManifest(submission, settings({ processesPerPod: 3 }), shared)).toThrow(
      'trainer.processes: got 4; expected at most 3, or a multiple of it, which is `processesPerPod` of kubernetes.json',
    );
  });

  it('gives several processes of a pod shared memory beyond the 64 MB of a container', () => {
    const podOf = (processes: number, processesPerPod: number) =>
      jobManifest(submission, settings({ processesPerPod }), { processes, variables: {} });
    const expected = {
      spec: {
        template: {
          spec: {
            volumes: [{ name: 'store' }, { name: 'shared-memory', emptyDir: { medium: 'Memory' } }],
            containers: [
              { volumeMounts: [{ name: 'store' }, { name: 'shared-memory', mountPath: '/dev/shm' }] },
            ],
          },
        },
      },
    };
    expect(schemaProblems(podOf(4, 2))).toEqual([]);
    expect(podOf(4, 8)).toMatchObject(expected);
    expect(podOf(4, 2)).toMatchObject(expected);
    for (const alone of [podOf(1, 8), podOf(2, 1)]) expect(JSON.stringify(alone)).not.toContain('/dev/shm');
  });

  it('is called by key, claim and folder, in at most 63 characters', () => {
    expect(kubernetesName(submission)).toMatch(/^genenv-abababababab-3-[0-9a-f]{8}$/);
    expect(kubernetesName({ ...submission, folder: '/other' })).not.toBe(kubernetesName(submission));
    expect(kubernetesName({ ...submission, fence: 1e12 }).length).toBeLessThanOrEqual(63);
  });
});

describe('the state of a job', () => {
  const job = (fields: { spec?: object; conditions?: object[]; deleted?: boolean } = {}) =>
    jobSchema.parse({
      metadata: { name: 'j', ...(fields.deleted === true && { deletionTimestamp: '2026-11-26T12:00:00Z' }) },
      spec: fields.spec ?? {},
      status: { conditions: fields.conditions ?? [] },
    });
  const pod = (status: object, creationTimestamp = '2026-11-26T12:00:00Z', index?: string) =>
    podSchema.parse({
      metadata: {
        ...{ name: 'p', creationTimestamp },
        ...(index !== undefined && { labels: { 'batch.kubernetes.io/job-completion-index': index } }),
      },
      status,
    });
  const indexed = (index: string, status: object) => pod(status, undefined, index);
  const running = pod({ phase: 'Running' });
  const failed = (exitCode: number) =>
    pod({ phase: 'Failed', containerStatuses: [{ state: { terminated: { exitCode, reason: 'Error' } } }] });
  const unscheduled = {
    type: 'PodScheduled',
    status: 'False',
    reason: 'Unschedulable',
    message: '0/3 nodes are available: 3 Insufficient nvidia.com/gpu.',
  };

  it.each([
    ['no Job', undefined, [], { state: 'ended' }],
    ['a Job that is deleted, whose node is lost', job({ deleted: true }), [running], { state: 'ended' }],
    [
      'a Job that Kueue holds back',
      job({ spec: { suspend: true } }),
      [],
      { state: 'queued', reason: 'suspended until its queue admits it' },
    ],
    ['a Job without pods', job(), [], { state: 'queued', reason: 'it has no pod yet' }],
    [
      'a pod for which no node has room',
      job(),
      [pod({ phase: 'Pending', conditions: [unscheduled] })],
      { state: 'queued', reason: 'Unschedulable: 0/3 nodes are available: 3 Insufficient nvidia.com/gpu.' },
    ],
    [
      'an image that cannot be had',
      job(),
      [
        pod({
          phase: 'Pending',
          containerStatuses: [{ state: { waiting: { reason: 'ImagePullBackOff', message: 'no such tag' } } }],
        }),
      ],
      { state: 'queued', reason: 'ImagePullBackOff: no such tag' },
    ],
    ['a pod without a word', job(), [pod({})], { state: 'queued', reason: 'Pending' }],
    ['a pod that runs', job(), [running], { state: 'running' }],
    [
      'a node that does not answer',
      job(),
      [pod({ phase: 'Unknown', reason: 'NodeLost' })],
      { state: 'unknown', reason: 'NodeLost' },
    ],
    ['a pod that has ended, which its Job does not know yet', job(), [failed(1)], { state: 'running' }],
    [
      'a Job that has failed',
      job({ conditions: [{ type: 'Failed', status: 'True' }] }),
      [failed(75)],
      { state: 'ended', code: 75 },
    ],
    [
      'a Job whose pod is gone',
      job({ conditions: [{ type: 'Complete', status: 'True' }] }),
      [],
      { state: 'ended' },
    ],
    [
      'a Job that was suspended and resumed: its newest pod counts',
      job(),
      [pod({ phase: 'Running' }, '2026-11-26T13:00:00Z'), failed(75)],
      { state: 'running' },
    ],
    [
      'a Job of two pods, of which one waits for a node',
      job({ spec: { parallelism: 2 } }),
      [indexed('0', { phase: 'Running' }), indexed('1', { phase: 'Pending', conditions: [unscheduled] })],
      { state: 'queued', reason: 'Unschedulable: 0/3 nodes are available: 3 Insufficient nvidia.com/gpu.' },
    ],
    [
      'a Job of two pods, of which one is not there yet',
      job({ spec: { parallelism: 2 } }),
      [indexed('0', { phase: 'Running' })],
      { state: 'queued', reason: 'it has 1 of its 2 pods' },
    ],
    [
      'a Job of two pods that run',
      job({ spec: { parallelism: 2 } }),
      [indexed('0', { phase: 'Running' }), indexed('1', { phase: 'Running' })],
      { state: 'running' },
    ],
    [
      'a Job of two pods, of which one has failed and ended the other',
      job({ spec: { parallelism: 2 }, conditions: [{ type: 'Failed', status: 'True' }] }),
      [
        indexed('0', { phase: 'Succeeded', containerStatuses: [{ state: { terminated: { exitCode: 0 } } }] }),
        indexed('1', { phase: 'Failed', containerStatuses: [{ state: { terminated: { exitCode: 137 } } }] }),
      ],
      { state: 'ended', code: 137 },
    ],
  ])('%s', (_, current, pods, expected) => {
    expect(kubernetesState(current, pods)).toEqual(expected);
  });
});
