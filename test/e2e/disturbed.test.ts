import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { queues } from '../../src/workflows/queues.ts';
import { LiveStack } from '../support/live-stack.ts';
import { tinyExperiment } from '../support/tiny-experiment.ts';

/** The promise: a run that was disturbed ends with the ledger of the run nobody disturbed, byte for byte. */

let stack: LiveStack;
let undisturbed: string;
const file = tinyExperiment();
const ledger = (id: string): string => readFileSync(join(stack.home, 'runs', id, 'ledger.jsonl'), 'utf8');
const start = (id: string) => stack.client.workflow.start('experiment', { args: [file], workflowId: id, taskQueue: queues.workflows });

beforeAll(async () => {
  stack = await LiveStack.start();
  const worker = await stack.startWorker();
  await (await start('undisturbed')).result();
  undisturbed = ledger('undisturbed');
  await worker.stop();
}, 180_000);
afterAll(async () => stack[Symbol.asyncDispose](), 60_000);

test('two undisturbed runs of the same file and seed are byte-identical', async () => {
  const worker = await stack.startWorker();
  await (await start('again')).result();
  await worker.stop();
  expect(ledger('again')).toBe(undisturbed);
  expect(undisturbed.trim().split('\n')).toHaveLength(4);
}, 60_000);

describe.each([
  ['generateTasks', 'before'],
  ['rollOut', '30ms'],
  ['computeRewards', 'after'],
  ['filterByDifficulty', 'after'],
  ['updatePools', 'before'],
  ['trainAgent', '40ms'],
  ['trainEnvironment', '120ms'],
  ['publishPolicy', 'after'],
  ['evaluatePolicy', 'after'],
  ['commitEpoch', 'after'],
])('the worker is killed in %s (%s)', (activity, when) => {
  test('and the run ends as if nothing had happened', async () => {
    const id = `killed-${activity}`;
    const doomed = await stack.startWorker({ fault: `SIGKILL:${activity}:2:${when}` });
    const run = await start(id);
    await doomed.exited;
    await using worker = await stack.startWorker();
    await run.result();
    await worker.stop();
    expect(ledger(id)).toBe(undisturbed);
  }, 90_000);
});
