import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { loadClientConnectConfig } from '@temporalio/envconfig';
import { DefaultLogger, NativeConnection, Runtime, Worker } from '@temporalio/worker';
import type { ActivityInterceptorsFactory, WorkerOptions } from '@temporalio/worker';
import { createCpuActivities, createGpuActivities, createLlmActivities } from '../activities/index.ts';
import { queues } from '../workflows/queues.ts';
import { activityInterceptor } from './activity-interceptor.ts';
import { temporalAttempt } from './attempt.ts';
import { createPorts } from './create-ports.ts';
import { serveHealth } from './health.ts';
import { registerSearchAttributes } from './register-search-attributes.ts';
import type { QueueName, WorkerSettings } from './settings.ts';

const say = (message: string): void => console.log(message);

export interface WorkerAdditions {
  /** Run inside the project's own interceptor, such as the faults of a test. */
  activityInterceptors?: ActivityInterceptorsFactory[];
  options?: Partial<WorkerOptions>;
}

/** Connects to the Temporal that the environment names and serves the queues until it is told to stop. */
export async function runWorker(settings: WorkerSettings, environment: NodeJS.ProcessEnv, { activityInterceptors = [], options = {} }: WorkerAdditions = {}): Promise<void> {
  const workers: Partial<Record<QueueName, Worker>> = {};
  const health = settings.healthPort === undefined ? undefined : await serveHealth(settings.healthPort, () => Object.fromEntries(Object.entries(workers).map(([name, worker]) => [name, worker.getState()])));
  Runtime.install({ logger: new DefaultLogger('WARN', ({ level, message, meta }) => console.error(level, message, meta?.error ?? '')), shutdownSignals: ['SIGTERM', 'SIGINT'] });
  const config = loadClientConnectConfig();
  const namespace = config.namespace ?? 'default';
  const connection = await connect(config.connectionOptions);
  const ports = createPorts(settings, environment, {
    attempt: temporalAttempt,
    searchAttributes: await registerSearchAttributes(connection, namespace, say),
    onDamage: ({ file, problem }) => say(`${file}: ${problem}`),
  });
  const common = {
    connection,
    namespace,
    shutdownGraceTime: '30 seconds',
    // Cancellation reaches an activity with a heartbeat: this bounds how long that takes.
    maxHeartbeatThrottleInterval: '2 seconds',
    interceptors: { activity: [activityInterceptor(ports), ...activityInterceptors] },
    ...options,
  } satisfies Partial<WorkerOptions>;
  const create: Record<QueueName, () => Promise<Worker>> = {
    workflows: () => Worker.create({ ...common, taskQueue: queues.workflows, workflowsPath: fileURLToPath(new URL('../workflows/index.ts', import.meta.url)), maxCachedWorkflows: options.maxCachedWorkflows ?? 50 }),
    llm: () => Worker.create({ ...common, taskQueue: queues.llm, activities: createLlmActivities(ports), maxConcurrentActivityTaskExecutions: 16 }),
    cpu: () => Worker.create({ ...common, taskQueue: queues.cpu, activities: createCpuActivities(ports), maxConcurrentActivityTaskExecutions: 4 }),
    // One slot: one training job at a time on this machine's device.
    gpu: () => Worker.create({ ...common, taskQueue: queues.gpu, activities: createGpuActivities(ports), maxConcurrentActivityTaskExecutions: 1 }),
  };
  for (const name of settings.queues) workers[name] = await create[name]();
  const running = Object.values(workers).map((worker) => worker.run());
  say('worker ready');
  try {
    await Promise.all(running);
  } finally {
    health?.close();
    await connection.close();
  }
}

/** A server that is not there yet is waited for: a worker that gave up here would look alive and never poll. */
async function connect(options: Parameters<typeof NativeConnection.connect>[0]): Promise<NativeConnection> {
  for (let wait = 200; ; wait = Math.min(5_000, wait * 2)) {
    try {
      return await NativeConnection.connect(options);
    } catch (error) {
      say(`waiting for Temporal at ${options?.address ?? 'localhost:7233'}: ${error instanceof Error ? error.message : String(error)}`);
      await sleep(wait);
    }
  }
}
