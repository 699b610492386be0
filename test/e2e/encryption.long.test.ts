import { createServer } from 'node:http';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { queues } from '../../src/workflows/activity-proxies.ts';
import { withFields } from '../../test-support/experiments.ts';
import { LiveStack } from '../../test-support/live-stack.ts';
import { formsOf } from '../../test-support/planted-texts.ts';
import { until } from '../../test-support/processes.ts';
import type { TestProcess } from '../../test-support/processes.ts';
import { tinyExperiment } from '../../test-support/tiny-experiment.ts';
import { keyText } from '../temporal/some-keys.ts';

/**
 * What Temporal's database holds of a run: first without payload keys, when everything that is planted must be
 * found, then with keys, on the same server, when nothing may be.
 */

const planted = ['prompt', 'path', 'address', 'error', 'attempt', 'retune', 'memo', 'summary', 'schedule'];
const canary = (what: string, stage: string): string => `canary-${what}-of-the-${stage}-stage`;
/** The setting that a retune changes, as its payload has it. */
const alphas = { plain: 0.41234567891, encrypted: 0.41234567892 };
type Stage = keyof typeof alphas;

let stack: LiveStack;
let worker: TestProcess;
/** Answers every request with an error that quotes its path. */
let refusing: Server;

beforeAll(async () => {
  refusing = createServer((request, response) => {
    const stage = request.url?.includes('plain') ? 'plain' : 'encrypted';
    response.writeHead(400).end(JSON.stringify({ error: { message: canary('error', stage) } }));
  });
  await new Promise<void>((resolve) => refusing.listen(0, '127.0.0.1', resolve));
  stack = await LiveStack.start();
}, 300_000);
afterAll(async () => {
  refusing.close();
  await stack[Symbol.asyncDispose]();
}, 60_000);

/** Which of these texts the database contains now, as they are or in base64. */
async function inDatabase(texts: readonly string[]): Promise<string[]> {
  const contents = await stack.database.contents();
  return texts.filter((text) => formsOf(text).some((form) => contents.includes(form)));
}

/** Which of these texts the database contains at any moment while something is done, or after it. */
async function inDatabaseDuring(texts: readonly string[], work: () => Promise<void>): Promise<string[]> {
  const seen = new Set<string>();
  const look = async (): Promise<void> => {
    for (const text of await inDatabase(texts.filter((missing) => !seen.has(missing)))) seen.add(text);
  };
  let isDone = false;
  const watch = async (): Promise<void> => {
    while (!isDone) {
      await look();
      await sleep(100);
    }
  };
  await Promise.all([watch(), work().finally(() => (isDone = true))]);
  await look();
  return [...seen].sort();
}

const textsOf = (stage: Stage): string[] => [
  ...planted.map((what) => canary(what, stage)),
  String(alphas[stage]),
  // The summary of the epoch's workflow, which the project makes.
  `Epoch 2 of 3: named-${stage}`,
];

/** A real run with a failing attempt and a retune, and what else carries texts of people and servers. */
async function everything(stage: Stage): Promise<void> {
  const { client } = stack;
  const start = (type: string, workflowId: string, file: unknown) =>
    client.workflow.start(type, {
      args: [file],
      workflowId,
      taskQueue: queues.workflows,
      memo: { note: canary('memo', stage) },
      staticSummary: canary('summary', stage),
    });
  const run = await start(
    'experiment',
    `run-${stage}`,
    withFields(tinyExperiment(), { name: `named-${stage}` }),
  );
  const refused = await start(
    'experiment',
    `refused-${stage}`,
    withFields(tinyExperiment(), {
      'agent.sampling.temperature': canary('prompt', stage),
      'agent.model': { type: 'pretrained', path: `/${canary('path', stage)}` },
    }),
  );
  await expect(refused.result()).rejects.toThrow();
  const { port } = refusing.address() as AddressInfo;
  const evaluation = await start('evaluation', `evaluation-${stage}`, {
    name: 'any',
    policy: {
      type: 'served',
      baseUrl: `http://127.0.0.1:${port}/${canary('address', stage)}`,
      model: 'any',
    },
    suites: ['bamboogle_closedbook'],
  });
  // A client with the keys reads the reason.
  const reason: unknown = await evaluation.result().catch((error: unknown) => error);
  expect(messagesOf(reason).join('\n')).toContain(canary('error', stage));
  const nightly = { experiment: { name: canary('schedule', stage) } };
  await client.schedule.create({
    scheduleId: `schedule-${stage}`,
    spec: { intervals: [{ every: '30d' }] },
    action: { type: 'startWorkflow', workflowType: 'nightly', taskQueue: queues.workflows, args: [nightly] },
  });
  const retune = (set: object) => run.executeUpdate('retune', { args: [set] });
  await expect(retune({ [canary('retune', stage)]: 1 })).rejects.toThrow();
  await retune({ 'difficulty.alpha': alphas[stage] });
  expect(await run.result()).toMatchObject({ outcome: 'finished', epochs: 3 });
  const attempts = (await stack.run(`run-${stage}`).events()).filter(({ type }) => type === 'attempt');
  expect(attempts.length).toBeGreaterThan(0);
}

function messagesOf(error: unknown): string[] {
  const messages: string[] = [];
  for (let at = error; at instanceof Error; at = at.cause) messages.push(at.message);
  return messages;
}

const startWorker = async (stage: Stage): Promise<void> => {
  worker = await stack.startWorker({
    fault: ':computeRewards:1:lost',
    environment: { GENENV_TEST_FAULT_MESSAGE: canary('attempt', stage) },
  });
};

test('without keys, the database has all that is planted, so the search finds what there is', async () => {
  await startWorker('plain');
  const texts = textsOf('plain');
  expect(await inDatabaseDuring(texts, () => everything('plain'))).toEqual(texts.sort());
}, 600_000);

test('with keys, it has none of it, and a run that began without keys continues', async () => {
  const mixed = await stack.startRun('mixed', tinyExperiment());
  await until(() => inLedger('mixed') >= 2, 240_000, 'the first epoch of a run without keys');
  await worker.stop();
  stack.environment.GENENV_PAYLOAD_KEYS = keyText('a');
  await stack.connect();
  await startWorker('encrypted');
  expect(await inDatabaseDuring(textsOf('encrypted'), () => everything('encrypted'))).toEqual([]);
  expect(await stack.client.workflow.getHandle(mixed.workflowId).result()).toMatchObject({ epochs: 3 });
}, 900_000);

test('after a rotation, everything stays readable; a worker without the key refuses to start', async () => {
  await worker.stop();
  const refused = stack.launchWorker({ environment: { GENENV_PAYLOAD_KEYS: keyText('b') } });
  expect(await refused.exited).not.toBe(0);
  expect(refused.output).toContain('the key "a" is missing');
  stack.environment.GENENV_PAYLOAD_KEYS = `${keyText('b')},${keyText('a')}`;
  await stack.connect();
  worker = await stack.startWorker();
  const handle = stack.client.workflow.getHandle('run-encrypted');
  expect(await handle.result()).toMatchObject({ outcome: 'finished' });
  expect(await handle.query('progress')).toMatchObject({ status: 'finished' });
}, 300_000);

function inLedger(id: string): number {
  try {
    return stack.entries(id).length;
  } catch {
    return 0;
  }
}
