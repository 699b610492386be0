/** infra/kubernetes by the schemas of the API, without a cluster, and rendered if kustomize or kubectl is installed. */
import { execFileSync } from 'node:child_process';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { onPath, pythonPath, repository } from '../../infra/setup/locations.mjs';
import { parseKubernetes } from '../../src/config/kubernetes.ts';
import { parseEndpoints } from '../../src/config/endpoints.ts';
import { queues } from '../../src/workflows/activity-proxies.ts';
import { schemaProblems } from '../../test-support/kubernetes-schemas.ts';
import { read } from './repository.ts';

interface Probe {
  exec: { command: string[] };
  periodSeconds: number;
  failureThreshold?: number;
}

interface KubernetesObject {
  kind: string;
  metadata: { name: string };
  data?: Record<string, string>;
  rules?: { resources: string[]; verbs: string[] }[];
  spec: {
    scaleTargetRef: { name: string };
    minReplicaCount: number;
    triggers: { type: string; metadata: Record<string, string> }[];
    template: {
      spec: {
        serviceAccountName?: string;
        automountServiceAccountToken?: boolean;
        containers: {
          image: string;
          args: string[];
          volumeMounts: { name: string; mountPath: string }[];
          readinessProbe: Probe;
          livenessProbe: Probe;
        }[];
        volumes: { name: string; persistentVolumeClaim?: { claimName: string } }[];
      };
    };
  };
}

/** YAML by the Python of the trainer, as kubectl reads it. */
function documents(text: string): KubernetesObject[] {
  const script = 'import json, sys, yaml; json.dump(list(yaml.safe_load_all(sys.stdin)), sys.stdout)';
  const json = execFileSync(pythonPath(), ['-c', script], { input: text, encoding: 'utf8' });
  return JSON.parse(json) as KubernetesObject[];
}

interface Kustomization {
  namespace: string;
  resources: string[];
  images?: { name: string; newName: string; newTag: string }[];
}

/** What a kustomization of resources is made of, before its namespace and images are written into them. */
function collect(folder: string): KubernetesObject[] {
  const [{ resources }] = documents(read(join(folder, 'kustomization.yaml'))) as unknown as [Kustomization];
  return resources.flatMap((path) =>
    path.endsWith('.yaml') ? documents(read(join(folder, path))) : collect(join(folder, path)),
  );
}

const objects = collect('infra/kubernetes/keda');
const ofKind = (kind: string): KubernetesObject[] => objects.filter((object) => object.kind === kind);
const named = (kind: string, name: string): KubernetesObject =>
  ofKind(kind).find(({ metadata }) => metadata.name === name)!;
const [base] = documents(read('infra/kubernetes/base/kustomization.yaml')) as unknown as [Kustomization];

describe('infra/kubernetes', () => {
  it.each(objects.map((object) => [`${object.kind} ${object.metadata.name}`, object]))(
    '%s fits the schema of its kind',
    (_, object) => {
      expect(schemaProblems(object)).toEqual([]);
    },
  );

  it('has a worker for each queue, scaled by the backlog of that queue', () => {
    const workers = ofKind('Deployment');
    expect(workers.map(({ spec }) => spec.template.spec.containers[0]!.args)).toEqual(
      Object.keys(queues).map((name) => ['--queues', name]),
    );
    const scaled = Object.fromEntries(
      ofKind('ScaledObject').map(({ spec }) => [
        spec.scaleTargetRef.name,
        spec.triggers.map(({ type, metadata }) => [type, metadata.taskQueue]),
      ]),
    );
    expect(scaled).toEqual(
      Object.fromEntries(
        Object.entries(queues).map(([name, queue]) => [`genenv-worker-${name}`, [['temporal', queue]]]),
      ),
    );
  });

  it('restarts a worker that does not answer, and none that waits for Temporal', () => {
    const port = named('ConfigMap', 'genenv-settings').data!.GENENV_HEALTH_PORT!;
    const asks = (path: string): unknown =>
      expect.stringContaining(`fetch('http://127.0.0.1:${port}${path}')`);
    for (const { spec } of ofKind('Deployment')) {
      const { readinessProbe, livenessProbe } = spec.template.spec.containers[0]!;
      expect(readinessProbe.exec.command).toEqual(['node', '-e', asks('/health')]);
      expect(livenessProbe.exec.command).toEqual(['node', '-e', asks('/live')]);
      expect(livenessProbe.periodSeconds * livenessProbe.failureThreshold!).toBeGreaterThanOrEqual(300);
    }
  });

  it('scales no queue to nothing while a workflow runs', () => {
    for (const { spec } of ofKind('ScaledObject')) {
      const { includeRunningWorkflowCount, workflowTaskQueueForCount } = spec.triggers[0]!.metadata;
      if (spec.minReplicaCount === 0)
        expect([includeRunningWorkflowCount, workflowTaskQueueForCount]).toEqual(['true', queues.workflows]);
    }
  });

  it('asks the same Temporal in the workers and in their scaling', () => {
    const { TEMPORAL_ADDRESS, TEMPORAL_NAMESPACE } = named('ConfigMap', 'genenv-settings').data!;
    for (const { spec } of ofKind('ScaledObject'))
      expect(spec.triggers[0]!.metadata).toMatchObject({
        endpoint: TEMPORAL_ADDRESS,
        namespace: TEMPORAL_NAMESPACE,
      });
  });

  it('has files for workers that they can read, and jobs that see what workers see', () => {
    parseEndpoints(named('ConfigMap', 'genenv-settings').data!.GENENV_ENDPOINTS!, 'settings.yaml');
    const jobs = parseKubernetes(
      named('ConfigMap', 'genenv-jobs').data!['kubernetes.json']!,
      'settings.yaml',
    );
    expect(ofKind('PersistentVolumeClaim').map(({ metadata }) => metadata.name)).toEqual([jobs.claim]);
    expect(jobs.namespace).toBe(base.namespace);
    const image = base.images!.find(({ name }) => name === 'genenv-trainer')!;
    expect(jobs.image).toBe(`${image.newName}:${image.newTag}`);
    for (const { spec } of ofKind('Deployment')) {
      const { containers, volumes } = spec.template.spec;
      expect(containers[0]!.volumeMounts).toContainEqual({ name: 'store', mountPath: jobs.mountPath });
      expect(volumes.find(({ name }) => name === 'store')?.persistentVolumeClaim?.claimName).toBe(jobs.claim);
      expect(base.images!.map(({ name }) => name)).toContain(containers[0]!.image);
    }
  });

  it('lets the worker of training jobs make and remove jobs, and the others nothing', () => {
    for (const { metadata, spec } of ofKind('Deployment')) {
      const { serviceAccountName, automountServiceAccountToken } = spec.template.spec;
      if (metadata.name === 'genenv-worker-gpu') expect(serviceAccountName).toBe('genenv-launcher');
      else expect(automountServiceAccountToken).toBe(false);
    }
    expect(
      ofKind('Role').flatMap(({ rules = [] }) => rules.map(({ resources, verbs }) => [resources, verbs])),
    ).toEqual([
      [['jobs'], ['get', 'list', 'create', 'delete']],
      [['pods'], ['list', 'delete']],
    ]);
  });

  const tool = onPath('kustomize') ?? onPath('kubectl');
  it.skipIf(tool === null)('renders to these objects, in its namespace and with its images', () => {
    const folder = join(repository, 'infra/kubernetes/keda');
    const args = tool!.endsWith('kubectl') ? ['kustomize', folder] : ['build', folder];
    const rendered = documents(execFileSync(tool!, args, { encoding: 'utf8', cwd: dirname(folder) }));
    const names = (list: KubernetesObject[]) =>
      list.map(({ kind, metadata }) => `${kind} ${metadata.name}`).sort();
    expect(names(rendered)).toEqual(names(objects));
    expect(new Set(rendered.map(({ metadata }) => (metadata as { namespace?: string }).namespace))).toEqual(
      new Set([base.namespace]),
    );
    for (const object of rendered) expect(schemaProblems(object)).toEqual([]);
  });
});
