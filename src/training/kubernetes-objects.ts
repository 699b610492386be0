/** What a training job is in Kubernetes: the Job that is created, and what the Job and its pods say of it. */
import { z } from 'zod';
import type { KubernetesSettings } from '../config/kubernetes.ts';
import { shortReason } from '../inference/outage-reason.ts';
import { sha256 } from '../store/canonical-json.ts';
import { claimName } from './launcher.ts';
import type { JobState, JobSubmission } from './launcher.ts';

/** Seconds between SIGTERM and SIGKILL, for the checkpoint. */
const graceSeconds = 60;
/** Seconds that Kubernetes keeps an ended job and its log: a day. */
const keptSeconds = 86_400;

/** Label of the work folder, by which the jobs of its other claims are found. */
export const workLabel = 'genenv.io/work';
/** Annotation with the claim. */
export const fenceLabel = 'genenv.io/fence';
const queueLabel = 'kueue.x-k8s.io/queue-name';

const hashOf = ({ folder }: Pick<JobSubmission, 'folder'>): string => sha256(folder).slice(0, 16);

/** Of key, claim and folder: two stores may train on the same inputs in one namespace. */
export const kubernetesName = (submission: Pick<JobSubmission, 'key' | 'fence' | 'folder'>): string =>
  `${claimName(submission)}-${hashOf(submission).slice(0, 8)}`;

/** Selects the jobs of all claims of a work folder. */
export const workSelector = (submission: Pick<JobSubmission, 'folder'>): string =>
  `${workLabel}=${hashOf(submission)}`;

/**
 * The Job of a claim: one pod that is never replaced, since only a new claim may start the trainer again.
 * @param variables of the trainer
 */
export function jobManifest(
  submission: JobSubmission,
  settings: KubernetesSettings,
  variables: Readonly<Record<string, string>>,
): object {
  const { queue, claim, mountPath, serviceAccount, priorityClass, runAsUser } = settings;
  const labels = {
    'app.kubernetes.io/name': 'genenv',
    'app.kubernetes.io/component': 'training-job',
    [workLabel]: hashOf(submission),
    [fenceLabel]: String(submission.fence),
  };
  return {
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: {
      name: kubernetesName(submission),
      labels: { ...labels, ...(queue !== undefined && { [queueLabel]: queue }) },
    },
    spec: {
      backoffLimit: 0,
      completions: 1,
      parallelism: 1,
      podReplacementPolicy: 'Failed',
      ttlSecondsAfterFinished: keptSeconds,
      // Kueue admits it by taking this back.
      ...(queue !== undefined && { suspend: true }),
      template: {
        metadata: { labels },
        spec: {
          restartPolicy: 'Never',
          terminationGracePeriodSeconds: graceSeconds,
          automountServiceAccountToken: false,
          enableServiceLinks: false,
          ...(serviceAccount !== undefined && { serviceAccountName: serviceAccount }),
          ...(priorityClass !== undefined && { priorityClassName: priorityClass }),
          imagePullSecrets: settings.imagePullSecrets.map((name) => ({ name })),
          nodeSelector: settings.nodeSelector,
          tolerations: settings.tolerations,
          securityContext: {
            runAsNonRoot: true,
            runAsUser,
            runAsGroup: runAsUser,
            fsGroup: runAsUser,
            // A store has many files: their owner is changed once, not at each start.
            fsGroupChangePolicy: 'OnRootMismatch',
            seccompProfile: { type: 'RuntimeDefault' },
          },
          volumes: [{ name: 'store', persistentVolumeClaim: { claimName: claim } }],
          containers: [
            {
              name: 'trainer',
              image: settings.image,
              command: [settings.python, '-m', 'genenv_trainer', 'job', submission.folder],
              env: Object.entries(variables).map(([name, value]) => ({ name, value })),
              resources: settings.resources,
              volumeMounts: [{ name: 'store', mountPath }],
              securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] } },
            },
          ],
        },
      },
    },
  };
}

const condition = z.object({
  type: z.string(),
  status: z.string(),
  reason: z.string().optional(),
  message: z.string().optional(),
});
const conditions = z.array(condition).default([]);

export const jobSchema = z.object({
  metadata: z.object({
    name: z.string(),
    labels: z.record(z.string(), z.string()).default({}),
    deletionTimestamp: z.string().optional(),
  }),
  spec: z.object({ suspend: z.boolean().optional() }),
  status: z.object({ conditions }).default({ conditions: [] }),
});
export type KubernetesJob = z.infer<typeof jobSchema>;

const containerState = z.object({
  waiting: z.object({ reason: z.string().optional(), message: z.string().optional() }).optional(),
  terminated: z.object({ exitCode: z.int(), reason: z.string().optional() }).optional(),
});

export const podSchema = z.object({
  metadata: z.object({
    name: z.string(),
    creationTimestamp: z.string().default(''),
    deletionTimestamp: z.string().optional(),
  }),
  status: z
    .object({
      phase: z.string().default('Pending'),
      reason: z.string().optional(),
      message: z.string().optional(),
      conditions,
      containerStatuses: z.array(z.object({ state: containerState.default({}) })).default([]),
    })
    .default({ phase: 'Pending', conditions: [], containerStatuses: [] }),
});
export type KubernetesPod = z.infer<typeof podSchema>;

/**
 * The state of a job by its Job and pods. A Job that is being deleted has ended, although its pod may still be
 * there: that of a lost node stays until the node is back, and its claim lets it write nothing.
 */
export function kubernetesState(job: KubernetesJob | undefined, pods: readonly KubernetesPod[]): JobState {
  if (job === undefined || job.metadata.deletionTimestamp !== undefined) return { state: 'ended' };
  const pod = pods
    .toSorted((a, b) => a.metadata.creationTimestamp.localeCompare(b.metadata.creationTimestamp))
    .at(-1);
  const { terminated, waiting } = pod?.status.containerStatuses[0]?.state ?? {};
  const code = terminated?.exitCode;
  if (isTrue(job.status.conditions, 'Complete') || isTrue(job.status.conditions, 'Failed'))
    return { state: 'ended', ...(code !== undefined && { code }) };
  if (job.spec.suspend === true) return { state: 'queued', reason: 'suspended until its queue admits it' };
  if (pod === undefined) return { state: 'queued', reason: 'it has no pod yet' };
  const { phase, reason, message } = pod.status;
  if (phase === 'Unknown')
    return { state: 'unknown', reason: shortReason(message ?? reason ?? 'its node does not answer') };
  if (phase !== 'Pending') return { state: 'running' };
  const unscheduled = pod.status.conditions.find(
    ({ type, status }) => type === 'PodScheduled' && status === 'False',
  );
  const cause = unscheduled ?? waiting;
  return {
    state: 'queued',
    reason: shortReason(
      [cause?.reason, cause?.message].filter((text) => text !== undefined).join(': ') || 'Pending',
    ),
  };
}

const isTrue = (list: readonly z.infer<typeof condition>[], name: string): boolean =>
  list.some(({ type, status }) => type === name && status === 'True');
