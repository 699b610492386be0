/** What somebody can do who may write to Temporal's namespace, and to nothing else: a real server, a real worker. */
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { dirname, join } from 'node:path';
import { json } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import type { WorkflowHandle } from '@temporalio/client';
import { NativeConnection, Worker } from '@temporalio/worker';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { fileRef, folderRef } from '../../src/store/references.ts';
import { policyName } from '../../src/types/run-state.ts';
import type { CommitInput } from '../../src/types/activity-inputs.ts';
import type { EvaluationProgress } from '../../src/types/evaluation-types.ts';
import { queues } from '../../src/workflows/activity-proxies.ts';
import { evaluationProgressQuery } from '../../src/workflows/messages.ts';
import { opening } from '../../test-support/opening.ts';
import { exampleExperiment } from '../../test-support/experiments.ts';
import { replyToChat } from '../../test-support/fake-chat.ts';
import type { ReceivedChat } from '../../test-support/fake-chat.ts';
import { InstantStack } from '../../test-support/instant-stack.ts';
import { until } from '../../test-support/processes.ts';

const SECRET = 'SECRET-of-the-worker-4711';
let stack: InstantStack;
let attacker: { worker: Worker; running: Promise<void>; connection: NativeConnection };

beforeAll(async () => {
  stack = await InstantStack.start(exampleExperiment().world, {
    environment: { AWS_SECRET_ACCESS_KEY: SECRET },
  });
  const connection = await NativeConnection.connect({ address: stack.address });
  const worker = await Worker.create({
    connection,
    taskQueue: 'attacker',
    workflowsPath: fileURLToPath(new URL('../../test-support/any-activity.ts', import.meta.url)),
  });
  attacker = { worker, running: worker.run(), connection };
}, 120_000);

afterAll(async () => {
  attacker.worker.shutdown();
  await attacker.running;
  await attacker.connection.close();
  await stack[Symbol.asyncDispose]();
});

let ids = 0;
const start = (type: string, taskQueue: string, args: unknown[]): Promise<WorkflowHandle> =>
  stack.client.workflow.start(type, { taskQueue, workflowId: `attack-${++ids}`, args });

const schedule = async (queue: keyof typeof queues, activity: string, input: unknown): Promise<unknown> =>
  (await start('anyActivity', 'attacker', [queues[queue], activity, input])).result();

/** All messages of a failure, those of its causes included. */
const messagesOf = (error: unknown): string =>
  error instanceof Error ? `${error.message}\n${error.stack ?? ''}\n${messagesOf(error.cause)}` : '';

const failureOf = async (result: Promise<unknown>): Promise<string> => {
  const error: unknown = await result.then(
    () => undefined,
    (failure: unknown) => failure,
  );
  return messagesOf(error);
};

/** Every file under the stack's home, but logs and Temporal's database. */
const files = (): string[] =>
  readdirSync(stack.home, { recursive: true, encoding: 'utf8' })
    .filter((name) => !name.endsWith('.log') && !name.startsWith('temporal'))
    .filter((name) => statSync(join(stack.home, name)).isFile())
    .toSorted();

const searchCall = `<tool_call>\n${JSON.stringify({ name: 'search', parameters: { query: 'a' } })}\n</tool_call>`;

/** A server of the attacker, which answers as a model that searches does, and the headers of every request to it. */
async function listener(): Promise<{ url: string; requests: IncomingHttpHeaders[] }> {
  const requests: IncomingHttpHeaders[] = [];
  const server = createServer((request, response) => {
    requests.push(request.headers);
    void json(request).then((body) => {
      const reply = replyToChat(body as ReceivedChat, () => searchCall);
      response.setHeader('content-type', 'application/json').end(JSON.stringify(reply.body));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`, requests };
}

describe('a variable of the worker', () => {
  test.each(['policy', 'judge', 'search'] as const)(
    'is not sent to a server that %s names',
    async (place) => {
      const { url, requests } = await listener();
      const key = { apiKeyEnv: 'AWS_SECRET_ACCESS_KEY' };
      const file = {
        name: `steal-${place}`,
        suites: [place === 'search' ? 'bamboogle_search' : 'bamboogle_closedbook'],
        limit: 1,
        policy: { type: 'served', baseUrl: url, model: 'm', api: 'chat', ...(place === 'policy' && key) },
        ...(place === 'judge' && { judge: { baseUrl: url, model: 'm', ...key } }),
        ...(place === 'search' && { search: { url, ...key } }),
      };
      const handle = await start('evaluation', queues.workflows, [file]);
      const progress = (): Promise<EvaluationProgress> => handle.query(evaluationProgressQuery);
      await until(
        async () => {
          const { status, waiting } = await progress().catch(() => ({ status: 'failed', waiting: null }));
          return waiting !== null || ['failed', 'finished'].includes(status);
        },
        60_000,
        'the evaluation waits or ends',
      );
      await handle.terminate().catch(() => undefined);
      const received = requests.map((headers) => JSON.stringify(headers)).join();
      expect(received).not.toContain(SECRET);
      if (place === 'policy') expect(requests).toEqual([]);
    },
  );

  test('is not said either', () => {
    const said = readFileSync(join(stack.home, 'worker.log'), 'utf8');
    expect(said).not.toContain(SECRET);
    for (const name of files()) expect(readFileSync(join(stack.home, name), 'utf8')).not.toContain(SECRET);
  });
});

describe('an activity that somebody else schedules', () => {
  const experiment = fileRef('e'.repeat(64), '.json', 1, 1);
  const checkpoint = folderRef('c'.repeat(64), 1, 1);
  const run = { id: 'victim', experiment };
  const state = { base_tasks: experiment };
  const policy = { name: 'served', checkpoint: null, trainer_state: null };
  const file = fileRef('f'.repeat(64), '.jsonl', 1, 1);
  const commit: CommitInput = {
    run,
    epoch: 1,
    outputs: { tasks: null, traces: [], rewards: null, scores: null, decisions: null, verdicts: [] },
    next: {
      base_tasks: file,
      held_out: file,
      agent: policy,
      environment: policy,
      initial_agent: policy,
      initial_environment: policy,
      history: experiment,
      train_pool: file,
      environment_pool: file,
      tokens: 0,
    },
    metrics: [],
    notes: [],
    retried: 0,
    seconds: {},
  };

  test.each([
    [
      'writes outside the store',
      'llm',
      'publishPolicy',
      { run, policy: { name: '../../../PWNED', checkpoint, trainer_state: null } },
    ],
    [
      'publishes other weights under a name',
      'llm',
      'publishPolicy',
      { run, policy: { name: policyName('agent', 1, 'd'.repeat(64)), checkpoint, trainer_state: null } },
    ],
    ['reads outside the store', 'cpu', 'openEpoch', opening('../../etc', null)],
    [
      'names a file of the machine',
      'llm',
      'publishPolicy',
      {
        run: { id: 'x', experiment: { ...experiment, uri: '/etc/shadow' } },
        policy: { name: 'a', checkpoint: null, trainer_state: null },
      },
    ],
    [
      'writes another event',
      'cpu',
      'recordEnd',
      { id: 'victim', outcome: 'finished', epoch: 1, type: 'note' },
    ],
    [
      'writes markup into an event',
      'cpu',
      'recordEnd',
      { id: 'victim', outcome: 'finished', epoch: '<img src=x onerror=1>' },
    ],
    ['makes a folder of another name', 'cpu', 'recordEnd', { id: '__proto__', outcome: 'failed', epoch: 1 }],
    [
      'replaces a method of all objects',
      'cpu',
      'retuneExperiment',
      { id: '__proto__', set: { '__proto__.toString': 1 }, fromEpoch: 1 },
    ],
    ['gives half of an input', 'gpu', 'trainAgent', { run, epoch: 1, state }],
    ['gives none', 'cpu', 'commitEpoch', undefined],
  ] as const)('%s: it is refused, and leaves no file', async (_, queue, activity, input) => {
    const before = files();
    const said = await failureOf(schedule(queue, activity, input));
    expect(said).toContain('its input is not one of this project');
    expect(said).not.toMatch(/PWNED|shadow|onerror/);
    expect(files()).toEqual(before);
    expect(existsSync(join(stack.home, '../PWNED.json'))).toBe(false);
  });

  test.each([
    ['parseExperiment', { id: 'victim', file: {} }],
    ['openEpoch', opening('victim', null)],
    ['retuneExperiment', { id: 'victim', set: { epochs: 1 }, fromEpoch: 1 }],
    ['recordEnd', { id: 'victim', outcome: 'failed', epoch: 1 }],
    ['commitEpoch', commit],
  ])('%s of a run is for the workflow of that run', async (activity, input) => {
    const before = files();
    expect(await failureOf(schedule('cpu', activity, input))).toContain(
      `activity ${activity}: only the workflow of the run`,
    );
    expect(files()).toEqual(before);
  });

  test('may be one that exists, with an input of this project: it finds no run, and leaves no file', async () => {
    const before = files();
    await failureOf(schedule('cpu', 'planRescoring', { id: 'never-was' }));
    expect(files()).toEqual(before);
  });
});

test('what the worker writes, only its own user reads', () => {
  const made = files().filter((name) => /^(runs|store|evaluations)\//.test(name));
  expect(made.length).toBeGreaterThan(5);
  for (const name of made) {
    expect(statSync(join(stack.home, name)).mode & 0o077, name).toBe(0);
    expect(statSync(dirname(join(stack.home, name))).mode & 0o077, dirname(name)).toBe(0);
  }
});

describe('a workflow that somebody else starts', () => {
  test.each([
    [
      'an experiment with a state of its own',
      'experiment',
      [{}, { plan: { run: {}, settings: { shards: 1e9 } } }],
    ],
    [
      'an epoch with a billion shards',
      'epoch',
      [{ run: {}, state: {}, epoch: 1, paused: false, settings: { shards: { generate: 1e9 } } }],
    ],
    ['a rescoring of no name', 'rescoring', [{ evaluation: { toString: 1 } }]],
    ['an evaluation with another argument', 'evaluation', [{}, {}]],
  ])('%s is refused', async (_, type, args) => {
    const said = await failureOf((await start(type, queues.workflows, args)).result());
    expect(said).toContain('its input is not one of this project');
  });

  test('is not disturbed by signals and updates of other shapes', async () => {
    const file = { ...exampleExperiment(), name: 'signalled', epochs: 1 };
    writeFileSync(join(stack.home, 'unused.log'), '');
    const handle = await start('experiment', queues.workflows, [file]);
    await handle.signal('modelOutage', { toString: 1 }, 7);
    await handle.signal('paused', 'yes');
    await handle.signal('unknown', 'x'.repeat(1000));
    await expect(handle.executeUpdate('retune', { args: [['__proto__']] })).rejects.toThrow();
    await expect(handle.executeUpdate('pause', { args: [{ forever: true }] })).rejects.toThrow();
    await expect(handle.result()).resolves.toMatchObject({ outcome: 'finished' });
  });
});
