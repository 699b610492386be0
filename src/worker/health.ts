import { createServer } from 'node:http';
import type { Server } from 'node:http';
import type { NativeConnection, Worker } from '@temporalio/worker';

/**
 * Serves GET /health: 200 while every queue is polled (by name: `polling`), 503 otherwise. A process that is
 * up but does not poll is not healthy.
 */
export function serveHealth(port: number, queues: () => Promise<Record<string, string>>): Promise<Server> {
  const server = createServer((request, response) => {
    void queues().then((workers) => {
      const healthy =
        Object.keys(workers).length > 0 && Object.values(workers).every((state) => state === 'polling');
      response.writeHead(request.url === '/health' ? (healthy ? 200 : 503) : 404, {
        'content-type': 'application/json',
      });
      response.end(JSON.stringify({ healthy, workers }));
    });
  });
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, '127.0.0.1', () => resolve(server));
  });
}

/** A poll is held open for up to a minute; one that began before this is of a poller that is gone. */
const freshMs = 150_000;
const answerMs = 2_000;
/** Temporal's enum, whose package is not among ours. */
const queueTypes = { workflows: 1, activities: 2 } as const;

/**
 * Whether a worker polls, by the server's own word: `polling`, or why it does not. Its state says nothing,
 * since a worker whose server is away keeps running. While it is busy it need not poll.
 */
export async function polls(
  connection: NativeConnection,
  worker: Worker,
  kind: keyof typeof queueTypes,
): Promise<string> {
  const { namespace, taskQueue, identity } = worker.options;
  if (worker.getState() !== 'RUNNING') return worker.getState();
  try {
    const asked: object = { namespace, taskQueue: { name: taskQueue }, taskQueueType: queueTypes[kind] };
    const { pollers } = await connection.withDeadline(Date.now() + answerMs, () =>
      connection.workflowService.describeTaskQueue(asked),
    );
    if (worker.getStatus().numInFlightActivities > 0) return 'polling';
    const own = pollers.find((poller) => poller.identity === identity);
    const seen = Number(own?.lastAccessTime?.seconds ?? 0) * 1000;
    return Date.now() - seen < freshMs ? 'polling' : 'the server has not been polled';
  } catch (error) {
    return `the server does not answer: ${error instanceof Error ? error.message : String(error)}`;
  }
}
