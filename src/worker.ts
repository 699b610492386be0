import { parseArgs } from 'node:util';
import { setTimeout as sleep } from 'node:timers/promises';
import { loadClientConnectConfig } from '@temporalio/envconfig';
import { DefaultLogger, NativeConnection, Runtime, Worker } from '@temporalio/worker';
import type { WorkerOptions } from '@temporalio/worker';
import { createCpuActivities, createGpuActivities, createLlmActivities } from './activities/index.ts';
import { queues } from './workflows/queues.ts';
import { activityInterceptor } from './worker/activity-interceptor.ts';
import { temporalAttempt } from './worker/attempt.ts';
import { createPorts } from './worker/create-ports.ts';
import { serveHealth } from './worker/health.ts';
import { registerSearchAttributes } from './worker/register-search-attributes.ts';
import { workerSettings } from './worker/settings.ts';
import type { QueueName } from './worker/settings.ts';

/** The composition root: connects to any Temporal (envconfig: address, namespace, TLS, API key, profiles) and serves the queues it is told to. */

const shutdownGrace = '30 seconds';
const say = (message: string): void => console.log(message);

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

const { values } = parseArgs({ options: { queues: { type: 'string' } } });
const settings = workerSettings(process.env, values.queues);
const workers: Partial<Record<QueueName, Worker>> = {};
if (settings.healthPort !== undefined) await serveHealth(settings.healthPort, () => Object.fromEntries(Object.entries(workers).map(([name, worker]) => [name, worker.getState()])));

Runtime.install({ logger: new DefaultLogger('WARN', ({ level, message, meta }) => console.error(level, message, meta?.error ?? '')), shutdownSignals: ['SIGTERM', 'SIGINT'] });
const config = loadClientConnectConfig();
const namespace = config.namespace ?? 'default';
const connection = await connect(config.connectionOptions);
const ports = createPorts(settings, process.env, {
  attempt: temporalAttempt,
  searchAttributes: await registerSearchAttributes(connection, namespace, say),
  onDamage: ({ file, problem }) => say(`${file}: ${problem}`),
});

const common = { connection, namespace, shutdownGraceTime: shutdownGrace, maxHeartbeatThrottleInterval: '2 seconds', interceptors: { activity: [activityInterceptor(ports)] } } satisfies Partial<WorkerOptions>;
const create: Record<QueueName, () => Promise<Worker>> = {
  workflows: () => Worker.create({ ...common, taskQueue: queues.workflows, workflowsPath: new URL('./workflows/index.ts', import.meta.url).pathname, maxCachedWorkflows: 50, bundlerOptions: { ignoreModules: ['node:crypto'] } }),
  llm: () => Worker.create({ ...common, taskQueue: queues.llm, activities: createLlmActivities(ports), maxConcurrentActivityTaskExecutions: 16 }),
  cpu: () => Worker.create({ ...common, taskQueue: queues.cpu, activities: createCpuActivities(ports), maxConcurrentActivityTaskExecutions: 4 }),
  // One slot: one training job at a time on this machine's device.
  gpu: () => Worker.create({ ...common, taskQueue: queues.gpu, activities: createGpuActivities(ports), maxConcurrentActivityTaskExecutions: 1 }),
};
for (const name of settings.queues) workers[name] = await create[name]();
say('worker ready');
try {
  await Promise.all(Object.values(workers).map((worker) => worker.run()));
} finally {
  await connection.close();
}
