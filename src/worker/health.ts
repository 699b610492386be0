import type { Server } from 'node:http';
import type { NativeConnection, Worker } from '@temporalio/worker';
import { createBoundedServer } from '../async/bounded-server.ts';

/**
 * Serves GET /health: 200 while every queue is polled (by name: `polling`), 503 otherwise; a process that is up but
 * does not poll is not healthy. And GET /live: 200 as long as this process answers. A worker that waits for Temporal
 * lives: a restart would not end the wait, and would leave the jobs that it watches alone.
 */
export function serveHealth(port: number, queues: () => Promise<Record<string, string>>): Promise<Server> {
  const server = createBoundedServer((request, response) => {
    if (!isLoopback(request.headers.host)) {
      response.writeHead(400).end('Host: expected a name of the loopback, such as 127.0.0.1');
      return;
    }
    if (request.url === '/live') {
      response.writeHead(200, JSON_TYPE).end('{"live":true}');
      return;
    }
    void queues().then((workers) => {
      const healthy =
        Object.keys(workers).length > 0 && Object.values(workers).every((state) => state === 'polling');
      const status = healthy ? 200 : 503;
      response.writeHead(request.url === '/health' ? status : 404, JSON_TYPE);
      response.end(JSON.stringify({ healthy, workers }));
    });
  });
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, '127.0.0.1', () => resolve(server));
  });
}

const JSON_TYPE = { 'content-type': 'application/json' };

/** A web page that points a name of its own at the loopback sends that name. */
const isLoopback = (host = ''): boolean => /^(127\.0\.0\.1|localhost|\[::1\])(:\d{1,5})?$/i.test(host);

/** A poll is held open for up to a minute; a poller that last polled longer ago than this is gone. */
const MAX_POLL_AGE_MS = 150_000;
const ANSWER_MS = 2_000;
/** Temporal's enum, whose package is not a dependency. */
const queueTypes = { workflows: 1, activities: 2 } as const;

/**
 * Asks the server whether a worker polls: `polling`, or the reason why it does not. The worker's own state
 * says nothing, since it keeps running without a server. While it is busy it need not poll.
 */
export async function readPollState(
  connection: NativeConnection,
  worker: Worker,
  kind: keyof typeof queueTypes,
): Promise<string> {
  const { namespace, taskQueue, identity } = worker.options;
  if (worker.getState() !== 'RUNNING') return worker.getState();
  try {
    const request: object = { namespace, taskQueue: { name: taskQueue }, taskQueueType: queueTypes[kind] };
    const { pollers } = await connection.withDeadline(Date.now() + ANSWER_MS, () =>
      connection.workflowService.describeTaskQueue(request),
    );
    if (worker.getStatus().numInFlightActivities > 0) return 'polling';
    const own = pollers.find((poller) => poller.identity === identity);
    const lastPoll = Number(own?.lastAccessTime?.seconds ?? 0) * 1000;
    return Date.now() - lastPoll < MAX_POLL_AGE_MS ? 'polling' : 'the server has not been polled';
  } catch (error) {
    return `the server does not answer: ${error instanceof Error ? error.message : String(error)}`;
  }
}
