/** What a training job is in Kubernetes: the Job that is created, and what the Job and its pods say of it. */
import { z } from 'zod';
import type { KubernetesSettings } from '../config/kubernetes.ts';
import { shortReason } from '../inference/outage-reason.ts';
import { sha256 } from '../store/canonical-json.ts';
import { InvalidConfig } from '../validation/invalid-config.ts';
import { claimName } from './launcher.ts';
import type { JobState, JobSubmission } from './launcher.ts';
import { torchrunArguments, trainerArguments } from './torchrun-launcher.ts';

/** Seconds between SIGTERM and SIGKILL, for the checkpoint. */
const graceSeconds = 60;
/** Port of a job's first pod, at which the processes of all its pods find each other. */
const meetingPort = 29_400;
/** Seconds that a job's first pods wait for the others, which may wait for nodes: a week. */
const meetingSeconds = 604_800;
/** Seconds that Kubernetes keeps an ended job and its log: a day. */
const keptSeconds = 86_400;

/**
 * Volume by which the processes of a pod exchange gradients (NCCL): a container's own /dev/shm has 64 MB. What is in it
 * counts towards the container's memory.
 */
const sharedMemory = 'shared-memory';

/** Label of the work folder, by which the jobs of its other claims are found. */
export const workLabel = 'genenv.io/work';
/** Annotation with the claim. */
export const fenceLabel = 'genenv.io/fence';
const queueLabel = 'kueue.x-k8s.io/queue-name';
/** Label of a pod, and variable in it, with its number within the job. */
const indexLabel = 'batch.kubernetes.io/job-completion-index';
const indexVariable = 'JOB_COMPLETION_INDEX';

const hashOf = ({ folder }: Pick<JobSubmission, 'folder'>): string => sha256(folder).slice(0, 16);

/** Of key, claim and folder: two stores may train on the same inputs in one namespace. */
export const kubernetesName = (submission: Pick<JobSubmission, 'key' | 'fence' | 'folder'>): string =>
  `${claimName(submission)}-${hashOf(submission).slice(0, 8)}`;

/** Selects the jobs of all claims of a work folder. */
export const workSelector = (submission: Pick<JobSubmission, 'folder'>): string =>
  `${workLabel}=${hashOf(submission)}`;

/** Arguments of a container's Python: the trainer, or torchrun with this pod's share of its processes. */
function pythonArguments(
  submission: JobSubmission,
  settings: KubernetesSettings,
  processes: number,
): string[] {
  if (processes === 1) return trainerArguments(submission);
  const pods = podsOf(settings, processes);
  return torchrunArguments(submission, {
    nodes: pods,
    processesPerNode: Math.min(processes, settings.processesPerPod),
    rendezvous:
      pods === 1
        ? ['--standalone']
        : [
            `--node-rank=$(${indexVariable})`,
            `--master-addr=${kubernetesName(submission)}-0.${settings.service}`,
            `--master-port=${meetingPort}`,
            `--rdzv-conf=timeout=${meetingSeconds}`,
          ],
  });
}

/** @throws InvalidConfig if the operator's pods cannot hold so many processes */
function podsOf({ processesPerPod }: KubernetesSettings, processes: number): number {
  if (processes > processesPerPod && processes % processesPerPod !== 0)
    throw new InvalidConfig(
      `trainer.processes: got ${processes}; expected at most ${processesPerPod}, or a multiple of it, which is ` +
        '`processesPerPod` of kubernetes.json',
    );
  return Math.ceil(processes / processesPerPod);
}

/**
 * The Job of a claim, whose pods are never replaced, since only a new claim may start the trainer again: one pod, or
 * several that meet at the first one. If one of them fails, the Job ends them all.
 * @param processes of the job
 * @param variables of the trainer
 * @throws InvalidConfig if the operator's pods cannot hold so many processes
 */
export function jobManifest(
  submission: JobSubmission,
  settings: KubernetesSettings,
  { processes, variables }: { processes: number; variables: Readonly<Record<string, string>> },
): object {
  const { queue, claim, mountPath, serviceAccount, priorityClass, runAsUser } = settings;
  const pods = podsOf(settings, processes);
  const sharesPod = processes > pods;
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
      completions: pods,
      parallelism: pods,
      ...(pods > 1 && { completionMode: 'Indexed' }),
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
          // So that the pods of a job find each other by name.
          ...(pods > 1 && { subdomain: settings.service }),
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
          volumes: [
            { name: 'store', persistentVolumeClaim: { claimName: claim } },
            ...(sharesPod ? [{ name: sharedMemory, emptyDir: { medium: 'Memory' } }] : []),
          ],
          containers: [
            {
              name: 'trainer',
              image: settings.image,
              command: [settings.python, ...pythonArguments(submission, settings, processes)],
              env: Object.entries(variables).map(([name, value]) => ({ name, value })),
              resources: settings.resources,
              volumeMounts: [
                { name: 'store', mountPath },
                ...(sharesPod ? [{ name: sharedMemory, mountPath: '/dev/shm' }] : []),
              ],
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
  spec: z.object({ suspend: z.boolean().optional(), parallelism: z.int().min(0).default(1) }),
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
    labels: z.record(z.string(), z.string()).default({}),
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
  const current = newestByIndex(pods);
  if (isTrue(job.status.conditions, 'Complete') || isTrue(job.status.conditions, 'Failed')) {
    const codes = current.flatMap((pod) => containerOf(pod)?.terminated?.exitCode ?? []);
    const code = codes.find((candidate) => candidate !== 0) ?? codes[0];
    return { state: 'ended', ...(code !== undefined && { code }) };
  }
  if (job.spec.suspend === true) return { state: 'queued', reason: 'suspended until its queue admits it' };
  if (current.length === 0) return { state: 'queued', reason: 'it has no pod yet' };
  const lost = current.find(({ status }) => status.phase === 'Unknown')?.status;
  if (lost !== undefined)
    return {
      state: 'unknown',
      reason: shortReason(lost.message ?? lost.reason ?? 'its node does not answer'),
    };
  const pending = current.find(({ status }) => status.phase === 'Pending');
  if (pending !== undefined) return { state: 'queued', reason: shortReason(whyPending(pending)) };
  const { parallelism } = job.spec;
  if (current.length < parallelism)
    return { state: 'queued', reason: `it has ${current.length} of its ${parallelism} pods` };
  return { state: 'running' };
}

/** A pod of each number: a Job that was suspended and resumed has had others. */
function newestByIndex(pods: readonly KubernetesPod[]): KubernetesPod[] {
  const newest = new Map<string, KubernetesPod>();
  for (const pod of pods.toSorted((a, b) =>
    a.metadata.creationTimestamp.localeCompare(b.metadata.creationTimestamp),
  ))
    newest.set(pod.metadata.labels[indexLabel] ?? '', pod);
  return [...newest.values()];
}

const containerOf = (pod: KubernetesPod): z.infer<typeof containerState> | undefined =>
  pod.status.containerStatuses[0]?.state;

function whyPending(pod: KubernetesPod): string {
  const unscheduled = pod.status.conditions.find(
    ({ type, status }) => type === 'PodScheduled' && status === 'False',
  );
  const cause = unscheduled ?? containerOf(pod)?.waiting;
  return [cause?.reason, cause?.message].filter((text) => text !== undefined).join(': ') || 'Pending';
}

const isTrue = (list: readonly z.infer<typeof condition>[], name: string): boolean =>
  list.some(({ type, status }) => type === name && status === 'True');
