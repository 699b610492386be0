import { setFlagsFromString } from 'node:v8';
import { loadClientConnectConfig } from '@temporalio/envconfig';
import { DefaultLogger, NativeConnection, Runtime } from '@temporalio/worker';
import type { ActivityInterceptorsFactory, Worker } from '@temporalio/worker';
import type { Dependencies } from '../activities/dependencies.ts';
import { createActivityContext } from './activity-context.ts';
import { activityInterceptor } from './activity-interceptor.ts';
import { workerFactory } from './create-worker.ts';
import { createDependencies } from './dependencies.ts';
import { polls, serveHealth } from './health.ts';
import { registerSearchAttributes, ServerWatch, untilPossible } from './server-connection.ts';
import type { QueueName, WorkerSettings } from './settings.ts';

const stopSignals = ['SIGTERM', 'SIGINT'] as const;
const say = (message: string): void => console.log(message);

export interface WorkerAdditions {
  /** Run inside the project's own interceptor, such as the faults of a test. */
  activityInterceptors?: ActivityInterceptorsFactory[];
}

/** Connects to the Temporal that the environment names and serves the queues until it is told to stop. */
export async function runWorker(
  settings: WorkerSettings,
  environment: NodeJS.ProcessEnv,
  { activityInterceptors = [] }: WorkerAdditions = {},
): Promise<void> {
  const stopping = new AbortController();
  const { signal } = stopping;
  const workers: Partial<Record<QueueName, Worker>> = {};
  const stop = (): void => {
    // No more is taken from the queues before activities let go of what they have: they would be given it
    // back.
    for (const worker of Object.values(workers)) if (worker.getState() === 'RUNNING') worker.shutdown();
    stopping.abort();
  };
  for (const name of stopSignals) process.on(name, stop);
  const logger = new DefaultLogger('WARN', ({ level, message, meta }) =>
    console.error(level, message, meta?.error ?? ''),
  );
  Runtime.install({ logger, shutdownSignals: [] });
  let connection: NativeConnection | undefined;
  let dependencies: Dependencies | undefined;
  const states = async (): Promise<Record<string, string>> =>
    Object.fromEntries(
      await Promise.all(
        settings.queues.map(
          async (queue) =>
            [
              queue,
              connection && workers[queue]
                ? await polls(connection, workers[queue], queue === 'workflows' ? 'workflows' : 'activities')
                : 'waiting for Temporal',
            ] as const,
        ),
      ),
    );
  const health =
    settings.healthPort === undefined ? undefined : await serveHealth(settings.healthPort, states);
  const { connectionOptions, namespace = 'default' } = loadClientConnectConfig();
  const watch = new ServerWatch(connectionOptions);
  try {
    connection = await untilPossible(
      `Temporal at ${connectionOptions.address ?? 'localhost:7233'}`,
      () => NativeConnection.connect(connectionOptions),
      { signal, say },
    );
    const register = registerSearchAttributes.bind(null, connection, namespace, say);
    dependencies = createDependencies(settings, environment, {
      attempt: () => createActivityContext(signal),
      searchAttributes: await register(),
      onDamage: ({ file, problem }) => say(`${file}: ${problem}`),
    });
    const create = await workerFactory(settings, dependencies, {
      connection,
      namespace,
      interceptors: { activity: [activityInterceptor(dependencies, signal), ...activityInterceptors] },
    });
    const createSoon = async (queue: QueueName): Promise<Worker> =>
      (workers[queue] = await untilPossible(`a worker of ${queue}`, () => create(queue), { signal, say }));
    for (const queue of settings.queues) await createSoon(queue);
    const running = settings.queues.map((queue) =>
      queue === 'workflows'
        ? serveWorkflows(workers[queue]!, () => register().then(() => createSoon(queue)), watch, signal)
        : workers[queue]!.run(),
    );
    say('worker ready');
    const ended = await Promise.allSettled(running.map((run) => run.finally(stop)));
    for (const end of ended) if (end.status === 'rejected') throw end.reason;
  } catch (error) {
    if (error !== signal.reason) throw error;
  } finally {
    health?.close();
    await dependencies?.suites.close();
    await watch.close();
    await connection?.close();
    for (const name of stopSignals) process.off(name, stop);
  }
}

/**
 * Runs the worker of the workflows; anew, with an empty cache, each time the server was away. A server that
 * comes back may have lost what it had last said (an older copy of its database): a cached workflow that is
 * ahead of it would wait for ever, one that is read anew does not. Nor need it know the search attributes any
 * more, without which every workflow task would fail.
 */
async function serveWorkflows(
  first: Worker,
  create: () => Promise<Worker>,
  watch: ServerWatch,
  signal: AbortSignal,
): Promise<void> {
  for (let worker = first; ; worker = await create()) {
    const run = worker.run();
    await Promise.race([run, watch.until(true).then(() => watch.until(false))]);
    if (signal.aborted) return run;
    say('Temporal is away: workflows are read anew when it is back');
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
 * Makes V8 collect its old generation after little growth. A worker's live data is some 20 MB whatever the
 * size of an epoch, since records stream; left to itself V8 lets several times as much garbage lie before it
 * looks, more the longer a phase runs. From inside, since workers are started in several ways (command line,
 * stack, containers), and this flag is read at each collection.
 */
export const keepHeapSmall = (): void => setFlagsFromString('--optimize-for-size');
