import { setFlagsFromString } from 'node:v8';
import { Runtime } from '@temporalio/worker';
import type { ActivityInterceptorsFactory, NativeConnection, Worker } from '@temporalio/worker';
import type { Dependencies } from '../activities/dependencies.ts';
import { connectStore } from '../runs/connect-store.ts';
import { survivePrintFailures } from '../runtime/output-streams.ts';
import { requireOneWinner } from '../store/bucket-probe.ts';
import { listRunningExperiments } from '../telemetry/running-workflows.ts';
import { startTelemetry } from '../telemetry/worker-telemetry.ts';
import { addressOf, connectionProblem } from '../temporal/connection-problem.ts';
import { readConnectionSettings } from '../temporal/connection-settings.ts';
import { createDataConverter } from '../temporal/data-converter.ts';
import { recordKey, requireRecordedKey } from '../temporal/key-record.ts';
import { readPayloadKeys } from '../temporal/payload-keys.ts';
import { createActivityContext, heartbeatDuringRequest } from './activity-context.ts';
import { activityInterceptor } from './activity-interceptor.ts';
import { workerFactory } from './create-worker.ts';
import { createDependencies } from './dependencies.ts';
import { readPollState, serveHealth } from './health.ts';
import { requestLog, requestReader } from './request-log.ts';
import {
  connectTo,
  followApiKey,
  registerSearchAttributes,
  ServerWatch,
  untilPossible,
} from './server-connection.ts';
import type { QueueName, WorkerSettings } from './settings.ts';

const stopSignals = ['SIGTERM', 'SIGINT'] as const;

export interface WorkerAdditions {
  /** They run inside the project's own interceptor; a test injects faults with them. */
  activityInterceptors?: ActivityInterceptorsFactory[];
}

/** Connects to the Temporal server that the environment names, and serves the queues until it is stopped. */
export async function runWorker(
  settings: WorkerSettings,
  environment: NodeJS.ProcessEnv,
  { activityInterceptors = [] }: WorkerAdditions = {},
): Promise<void> {
  survivePrintFailures();
  const payloadKeys = readPayloadKeys(environment);
  const bucket = await connectStore(settings.home, settings);
  if (bucket !== undefined) await requireOneWinner(bucket);
  await requireRecordedKey(settings.store, payloadKeys);
  await recordKey(settings.store, payloadKeys);
  const stopping = new AbortController();
  const { signal } = stopping;
  const workers: Partial<Record<QueueName, Worker>> = {};
  const stop = (): void => {
    // Polling stops before activities are interrupted; otherwise this worker would be given them again.
    for (const worker of Object.values(workers)) if (worker.getState() === 'RUNNING') worker.shutdown();
    stopping.abort();
  };
  for (const name of stopSignals) process.on(name, stop);
  const { store, runs, metrics, isTraced } = settings;
  const telemetry = await startTelemetry({ metrics, isTraced, environment, folders: { store, runs } });
  const { say } = telemetry;
  Runtime.install({ ...telemetry.runtimeOptions, shutdownSignals: [] });
  let connection: NativeConnection | undefined;
  let dependencies: Dependencies | undefined;
  const pollState = async (queue: QueueName): Promise<string> => {
    const worker = workers[queue];
    if (connection === undefined || worker === undefined) return 'waiting for Temporal';
    return readPollState(connection, worker, queue === 'workflows' ? 'workflows' : 'activities');
  };
  const pollStates = async (): Promise<Record<string, string>> =>
    Object.fromEntries(
      await Promise.all(settings.queues.map(async (queue) => [queue, await pollState(queue)] as const)),
    );
  const health =
    settings.healthPort === undefined ? undefined : await serveHealth(settings.healthPort, pollStates);
  const { connectionOptions, namespace, readApiKey } = readConnectionSettings(environment);
  const watch = new ServerWatch(connectionOptions);
  try {
    connection = await untilPossible(
      `Temporal at ${addressOf(connectionOptions)}`,
      () => connectTo(namespace, { ...connectionOptions, ...(readApiKey && { apiKey: readApiKey() }) }),
      { signal, say, explain: (error) => connectionProblem(connectionOptions, error) },
    );
    if (readApiKey !== undefined) followApiKey(connection, readApiKey, { signal, say });
    const register = registerSearchAttributes.bind(null, connection, namespace, say);
    dependencies = createDependencies(settings, environment, {
      attempt: () => createActivityContext(signal),
      keepAlive: (limitMs, wait) => heartbeatDuringRequest(signal, limitMs, wait),
      searchAttributes: await register(),
      onDamage: ({ file, problem }) => say(`${file}: ${problem}`),
      metrics: telemetry.metrics,
    });
    if (settings.queues.includes('cpu'))
      telemetry.followRuns({
        listRunning: listRunningExperiments.bind(null, connection, namespace),
        runFolder: dependencies.runFolder,
      });
    const create = await workerFactory(settings, dependencies, {
      connection,
      namespace,
      dataConverter: createDataConverter(payloadKeys),
      telemetry,
      interceptors: {
        activity: [
          ...telemetry.activityInterceptors(signal),
          activityInterceptor(dependencies, signal),
          requestLog(requestReader(connection, namespace), dependencies.runFolder, say),
          ...activityInterceptors,
        ],
      },
    });
    const createWorker = async (queue: QueueName): Promise<Worker> =>
      (workers[queue] = await untilPossible(`a worker of ${queue}`, () => create(queue), { signal, say }));
    for (const queue of settings.queues) await createWorker(queue);
    const running = settings.queues.map((queue) =>
      queue === 'workflows'
        ? serveWorkflows(workers[queue]!, () => register().then(() => createWorker(queue)), {
            watch,
            signal,
            say,
          })
        : runUntilStopped(workers[queue]!, signal),
    );
    say('worker ready');
    const ended = await Promise.allSettled(running.map((run) => run.finally(stop)));
    for (const end of ended) if (end.status === 'rejected') throw end.reason;
  } catch (error) {
    if (error !== signal.reason) throw error;
  } finally {
    stopping.abort();
    await endUnused(Object.values(workers), signal);
    health?.close();
    await telemetry.close();
    await dependencies?.suites.close();
    await watch.close();
    await connection?.close();
    for (const name of stopSignals) process.off(name, stop);
  }
}

/** Runs a worker until it is shut down: at once if the stop came while it was made, when it could not be told. */
export function runUntilStopped(
  worker: Pick<Worker, 'run' | 'shutdown'>,
  signal: AbortSignal,
): Promise<void> {
  const run = worker.run();
  if (signal.aborted) worker.shutdown();
  return run;
}

/** Ends workers that were made and never run: a connection that they hold cannot be closed. */
const endUnused = (workers: readonly Worker[], stopped: AbortSignal): Promise<unknown> =>
  Promise.allSettled(
    workers
      .filter((worker) => worker.getState() === 'INITIALIZED')
      .map((worker) => runUntilStopped(worker, stopped)),
  );

/**
 * Runs the worker of the workflows, and replaces it by one with an empty cache each time the server was away.
 * A server that comes back may have lost its last events (an older copy of its database). A cached workflow
 * that is ahead of it would wait for ever; a replayed one does not. Search attributes are registered again
 * too, since without them every workflow task would fail.
 */
async function serveWorkflows(
  first: Worker,
  create: () => Promise<Worker>,
  { watch, signal, say }: { watch: ServerWatch; signal: AbortSignal; say: (message: string) => void },
): Promise<void> {
  for (let worker = first; ; worker = await create()) {
    const run = runUntilStopped(worker, signal);
    await Promise.race([run, watch.until(true).then(() => watch.until(false))]);
    if (signal.aborted) return run;
    say('Temporal is away: workflows are read again when it is back');
    worker.shutdown();
    await run.catch((error: unknown) => say(`the worker of workflows did not end in time: ${String(error)}`));
    await Promise.race([watch.until(true), aborted(signal)]);
  }
}

const aborted = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) =>
    signal.aborted ? resolve() : signal.addEventListener('abort', () => resolve(), { once: true }),
  );

/**
 * Makes V8 collect its old generation when it has grown by half since the last collection. A worker's live data
 * is some 20 MB for any size of epoch, since records stream; by default V8 lets several times as much garbage
 * build up, more the longer a phase runs. (`--optimize-for-size` does so too, but it also shrinks the young
 * generation at each collection, and half of the worker's processor time then goes into collecting that.) Set
 * at run time, since workers are started in several ways (command line, stack, containers) and V8 reads this
 * flag at each collection.
 */
export const keepHeapSmall = (): void => setFlagsFromString('--heap-growing-percent=50');
