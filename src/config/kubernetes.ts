/** The operator's file on training jobs in Kubernetes: an experiment chooses none of it. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { InvalidConfig } from '../validation/invalid-config.ts';
import { pathField } from '../validation/limited-fields.ts';
import { parseFile } from '../validation/parse-file.ts';

/** Names of objects (RFC 1123), and keys and values of labels, as the API server checks them. */
const objectName = z
  .string()
  .max(253)
  .regex(/^[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?$/, 'expected lower-case letters, digits, dots and dashes');
const labelKey = z
  .string()
  .max(317)
  .regex(/^(?:[a-z0-9.-]+\/)?[A-Za-z0-9](?:[\w.-]*[A-Za-z0-9])?$/, 'expected the key of a label');
const labelValue = z
  .string()
  .max(63)
  .regex(/^(?:[A-Za-z0-9](?:[\w.-]*[A-Za-z0-9])?)?$/, 'expected the value of a label');
const quantity = z
  .string()
  .max(40)
  .regex(/^\d+(?:\.\d+)?(?:m|[kMGTPE]i?|Ki)?$/, 'expected a quantity such as "500m", "2" or "16Gi"');
const quantities = z.record(labelKey, quantity);

const tolerationSchema = z.strictObject({
  key: labelKey.optional(),
  operator: z.enum(['Exists', 'Equal']).optional(),
  value: labelValue.optional(),
  effect: z.enum(['NoSchedule', 'PreferNoSchedule', 'NoExecute']).optional(),
  tolerationSeconds: z.int().min(0).max(1_000_000).optional(),
});

const kubernetesSchema = z
  .strictObject({
    namespace: objectName.max(63).describe('Where jobs are created.'),
    kubeconfig: pathField
      .optional()
      .describe('File with cluster and credentials. Left out = those of the pod, else of `KUBECONFIG`.'),
    context: z.string().min(1).max(253).optional().describe('Left out = the current context of that file.'),
    queue: objectName
      .max(63)
      .optional()
      .describe('LocalQueue of Kueue: jobs are suspended until it admits them. Left out = none.'),
    image: z
      .string()
      .max(512)
      .regex(/^[A-Za-z0-9][\w./:@-]*$/, 'expected an image')
      .describe('Image with the trainer, such as that of infra/Dockerfile.trainer.'),
    python: pathField.default('/usr/local/bin/python').describe('The Python in it that has the trainer.'),
    claim: objectName.describe('PersistentVolumeClaim that holds the store.'),
    mountPath: pathField
      .regex(/^\/[^:]*$/, 'expected an absolute path')
      .describe('Where it is mounted in jobs: as in the workers, since jobs name files by their paths.'),
    resources: z
      .strictObject({ requests: quantities.optional(), limits: quantities.optional() })
      .default({})
      .describe('Of the container, such as `{"limits": {"nvidia.com/gpu": "1"}}`.'),
    processesPerPod: z
      .int()
      .min(1)
      .max(64)
      .default(1)
      .describe('Processes of a job in a pod, one a GPU of `resources`. Jobs with more have several pods.'),
    service: objectName
      .max(63)
      .default('genenv-jobs')
      .describe('Headless Service of the jobs’ pods, by which those of one job find each other.'),
    tolerations: z.array(tolerationSchema).max(100).default([]),
    nodeSelector: z.record(labelKey, labelValue).default({}),
    serviceAccount: objectName.optional().describe('Left out = the default one; jobs get no token of it.'),
    priorityClass: objectName.optional(),
    imagePullSecrets: z.array(objectName).max(20).default([]),
    runAsUser: z
      .int()
      .min(1)
      .max(2 ** 31 - 1)
      .default(1000)
      .describe('Owner of what jobs write.'),
  })
  .describe('Training jobs in Kubernetes.');
export type KubernetesSettings = z.infer<typeof kubernetesSchema>;

/** Where the file of a worker is: `GENENV_KUBERNETES`, else `kubernetes.json` in the home folder. */
export const kubernetesFile = (variable: string | undefined, home: string): string =>
  variable ?? join(home, 'kubernetes.json');

/** @throws InvalidConfig naming the file, or the field, what it holds and what is allowed */
export function readKubernetes(file: string): KubernetesSettings {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    const { code = String(error) } = error as NodeJS.ErrnoException;
    throw new InvalidConfig(
      `trainer.launcher "kubernetes": ${file} cannot be read (${code}); docs/kubernetes.md says what is in it, ` +
        'and GENENV_KUBERNETES names another',
    );
  }
  return parseKubernetes(text, file);
}

/** @param source where the text is, for errors @throws InvalidConfig */
export function parseKubernetes(text: string, source: string): KubernetesSettings {
  let raw: unknown;
  try {
    raw = JSON.parse(text);
  } catch {
    throw new InvalidConfig(`${source}: expected JSON, such as {"namespace": "genenv", "image": "…"}`);
  }
  return parseFile('kubernetes', kubernetesSchema, raw, source);
}
