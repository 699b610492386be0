import { createServer } from 'node:http';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { WorkflowFailedError } from '@temporalio/client';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { queues } from '../../src/workflows/activity-proxies.ts';
import { exampleExperiment } from '../../test-support/experiments.ts';
import { InstantStack } from '../../test-support/instant-stack.ts';

/** What becomes of a model server's error texts, on a real Temporal server and a real worker. */

let stack: InstantStack;
/** A model server that refuses every question, and says so at length. */
let server: Server;
/** Path and body of each request: those of an evaluation name its model, which has its id. */
let requests: string[] = [];
let said = '';
beforeAll(async () => {
  stack = await InstantStack.start(exampleExperiment().world);
  server = createServer((request, response) => {
    const parts: Buffer[] = [];
    request.on('data', (part: Buffer) => parts.push(part));
    request.on('end', () => {
      requests.push(`${request.url} ${Buffer.concat(parts).toString('utf8')}`);
      response.writeHead(400, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ error: { message: said } }));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
}, 120_000);
afterAll(async () => {
  server.closeAllConnections();
  server.close();
  await stack[Symbol.asyncDispose]();
}, 60_000);

const evaluationOf = (id: string) =>
  stack.client.workflow.start('evaluation', {
    args: [
      {
        name: 'any',
        policy: {
          type: 'served',
          baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
          model: id,
        },
        suites: ['bamboogle_closedbook'],
        limit: 4,
        questionsPerRequest: 4,
        concurrency: 1,
        heartbeatSeconds: 5,
        requestTimeoutSeconds: 30,
      },
    ],
    workflowId: id,
    taskQueue: queues.workflows,
  });

test.each([
  ['100 kB', 100_000],
  ['1.5 MB', 1_500_000],
  ['6 MB', 6_000_000],
])(
  'a refusal of %s is reported as itself at the first attempt, short, plain and without stacks',
  async (_, characters) => {
    said = `no such option \u001b]0;OWNED\u0007${'x'.repeat(characters)}`;
    requests = [];
    const id = `refused-${characters}`;
    const handle = await evaluationOf(id);
    const failure: unknown = await handle.result().catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(WorkflowFailedError);
    expect(failure).toMatchObject({
      cause: {
        cause: {
          type: 'RequestRefused',
          nonRetryable: true,
          message: expect.stringContaining('no such option \\u001b]0;OWNED\\u0007xx') as string,
        },
      },
    });
    // Four questions, side by side, once. What an earlier evaluation had under way may come late, and is not counted.
    const own = requests.filter((request) => request.includes(id));
    expect(own.length).toBeGreaterThan(0);
    expect(own.length).toBeLessThanOrEqual(4);
    const history = await handle.fetchHistory();
    const failures = JSON.stringify(
      history.events?.filter(({ activityTaskFailedEventAttributes: failed }) => failed),
    );
    expect(failures.length).toBeLessThan(10_000);
    const kept = JSON.stringify(history);
    expect(kept).not.toMatch(/\bat \S+ \(.*:\d+:\d+\)|\.ts:\d+/);
    // A control character, not the escape that stands for it.
    expect(kept).not.toMatch(/[^\\]\\u001b/);
    expect(stack.worker.output).toContain('no such option');
  },
  60_000,
);
