import { join, resolve } from 'node:path';
import { cacheRoot, pythonPath } from '../../infra/setup/locations.mjs';
import { endpointsSource } from '../config/endpoints.ts';
import type { EndpointsSource } from '../config/endpoints.ts';
import { homeFolder } from '../config/home-folder.ts';
import { kubernetesFile } from '../config/kubernetes.ts';
import { dataFolders, modelFolders } from '../config/permitted-folders.ts';
import { SLURM_ARGUMENTS, slurmArguments } from '../config/slurm.ts';
import { readQuotas } from '../runs/quotas.ts';
import type { Quotas } from '../runs/quotas.ts';
import type { MetricsAddress } from '../telemetry/metrics-server.ts';

export type QueueName = 'workflows' | 'llm' | 'cpu' | 'gpu';
const queueNames: readonly QueueName[] = ['workflows', 'llm', 'cpu', 'gpu'];

/** A worker's settings, from its environment and command line. */
export interface WorkerSettings {
  home: string;
  store: string;
  runs: string;
  /** Locks on this machine's devices. */
  devices: string;
  policyServer: string;
  /** The vLLM that the embedded stack has started for this worker's runs. */
  vllmServer: string | undefined;
  trainerSocket: string;
  /** Options of `sbatch` that the operator adds to every job. */
  slurmArguments: readonly string[];
  python: string;
  queues: readonly QueueName[];
  /** Folder of downloaded benchmark data. */
  benchmarks: string;
  /** The list of servers that it may speak to. */
  endpoints: EndpointsSource;
  /** The operator's file on training jobs in Kubernetes. */
  kubernetes: string;
  /** Folders that files of runs may name tasks and data sets in. */
  dataFolders: readonly string[];
  /** Folders that they may name pretrained models in. */
  modelFolders: readonly string[];
  /** What each run may use. */
  quotas: Quotas;
  /** External worlds that it may load. */
  worlds: string | undefined;
  onShutdown: 'checkpoint' | 'detach';
  healthPort: number | undefined;
  /** Where metrics are served; undefined = nowhere. */
  metrics: MetricsAddress | undefined;
  /** Whether spans are sent to a collector, and logs are JSON. */
  isTraced: boolean;
  /** Workflows kept in memory; one that is not is replayed from its history. */
  maxCachedWorkflows: number;
  /** Training jobs at a time; on a GPU a lock lets one work. */
  trainingJobs: number;
  /** Deployment version of this worker; a run stays with the version it was started on. */
  version: { deploymentName: string; buildId: string } | undefined;
}

/** @throws Error naming the variable or flag, its value and what is allowed */
export function workerSettings(environment: NodeJS.ProcessEnv, queues: string | undefined): WorkerSettings {
  const home = homeFolder(environment);
  const selected = (queues ?? queueNames.join(',')).split(',').map((name) => name.trim());
  const unknownQueue = selected.find((name) => !queueNames.includes(name as QueueName));
  if (unknownQueue !== undefined)
    throw new Error(
      `--queues: got ${JSON.stringify(unknownQueue)}; allowed: ${queueNames.join(', ')}, separated by commas`,
    );
  const onShutdown = environment.GENENV_ON_SHUTDOWN ?? 'checkpoint';
  if (onShutdown !== 'checkpoint' && onShutdown !== 'detach')
    throw new Error(`GENENV_ON_SHUTDOWN: got ${JSON.stringify(onShutdown)}; allowed: checkpoint, detach`);
  const { TEMPORAL_DEPLOYMENT_NAME: deploymentName, TEMPORAL_WORKER_BUILD_ID: buildId } = environment;
  if ((deploymentName === undefined) !== (buildId === undefined))
    throw new Error(
      'TEMPORAL_DEPLOYMENT_NAME and TEMPORAL_WORKER_BUILD_ID: got one of them; set both, or none',
    );
  return {
    home,
    store: resolve(environment.GENENV_STORE ?? `${home}/store`),
    runs: resolve(environment.GENENV_RUNS ?? `${home}/runs`),
    devices: resolve(environment.GENENV_DEVICES ?? `${home}/stack/devices`),
    policyServer: environment.GENENV_POLICY_SERVER ?? 'http://127.0.0.1:8741/v1',
    vllmServer: environment.GENENV_VLLM_SERVER,
    slurmArguments: slurmArguments(environment[SLURM_ARGUMENTS]),
    trainerSocket: environment.GENENV_TRAINER_SOCKET ?? `${home}/stack/trainer.sock`,
    python: pythonPath(),
    queues: selected as QueueName[],
    benchmarks: resolve(environment.GENENV_BENCHMARKS ?? join(cacheRoot(), 'benchmarks')),
    endpoints: endpointsSource(environment.GENENV_ENDPOINTS, home),
    kubernetes: kubernetesFile(environment.GENENV_KUBERNETES, home),
    dataFolders: dataFolders(environment.GENENV_DATA, home),
    modelFolders: modelFolders(environment.GENENV_MODELS, home),
    quotas: readQuotas(environment),
    worlds: environment.GENENV_WORLDS,
    onShutdown,
    healthPort: readWholeNumber('GENENV_HEALTH_PORT', environment.GENENV_HEALTH_PORT, 65_535),
    metrics: metricsAddress(environment),
    isTraced: Boolean(environment.OTEL_EXPORTER_OTLP_ENDPOINT) && environment.OTEL_SDK_DISABLED !== 'true',
    maxCachedWorkflows:
      readWholeNumber('GENENV_MAX_CACHED_WORKFLOWS', environment.GENENV_MAX_CACHED_WORKFLOWS, 100_000) ?? 50,
    trainingJobs: readWholeNumber('GENENV_TRAINING_JOBS', environment.GENENV_TRAINING_JOBS, 64, 1) ?? 1,
    version: deploymentName === undefined || buildId === undefined ? undefined : { deploymentName, buildId },
  };
}

function metricsAddress(environment: NodeJS.ProcessEnv): MetricsAddress | undefined {
  const port = readWholeNumber('GENENV_METRICS_PORT', environment.GENENV_METRICS_PORT, 65_535);
  return port === undefined ? undefined : { host: environment.GENENV_METRICS_HOST ?? '127.0.0.1', port };
}

function readWholeNumber(name: string, value: string | undefined, max: number, min = 0): number | undefined {
  if (value === undefined) return undefined;
  if (!/^\d{1,6}$/.test(value) || Number(value) < min || Number(value) > max)
    throw new Error(`${name}: got ${JSON.stringify(value)}; expected a whole number from ${min} to ${max}`);
  return Number(value);
}
