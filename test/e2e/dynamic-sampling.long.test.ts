import { afterAll, beforeAll, expect, test } from 'vitest';
import { LiveStack } from '../../test-support/live-stack.ts';
import { withFields } from '../../test-support/experiments.ts';
import { tinyExperiment } from '../../test-support/tiny-experiment.ts';

/** Real runs whose epochs sample in rounds, on a real server and with real models. */

let stack: LiveStack;

/** More groups than two rounds of 16 tasks have, so that every epoch takes all three. */
const file = withFields(tinyExperiment({ epochs: 2 }), {
  'agent.training.dropZeroVariance': true,
  'agent.training.dynamicSampling': { informativeGroups: 40, maxRounds: 3 },
});

beforeAll(async () => {
  stack = await LiveStack.start();
}, 600_000);
afterAll(async () => stack[Symbol.asyncDispose](), 60_000);

test('a run whose worker is killed in and between the rounds of an epoch ends with the same ledger', async () => {
  const steady = await stack.startWorker();
  await (await stack.startRun('undisturbed', file)).result();
  await steady.stop();
  const lines = stack.entries('undisturbed').slice(1);
  expect(lines.map(({ metrics }) => metrics['rollouts/rounds'])).toEqual([3, 3]);
  expect(lines.map(({ outputs }) => outputs.tasks!.count)).toEqual([48, 48]);

  // In the first round, in the second and after it: what is done is recorded, so each fault meets a later round.
  const faults = ['filterByDifficulty:1:after', 'rollOut:1:30ms', 'computeRewards:1:after'];
  let doomed = await stack.startWorker({ fault: `SIGKILL:${faults.shift()!}` });
  const run = await stack.startRun('killed', file);
  for (const fault of faults) {
    await doomed.exited;
    doomed = await stack.startWorker({ fault: `SIGKILL:${fault}` });
  }
  await doomed.exited;
  const worker = await stack.startWorker();
  await run.result();
  await worker.stop();
  expect(stack.ledger('killed')).toBe(stack.ledger('undisturbed'));
}, 600_000);
