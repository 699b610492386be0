import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { LiveStack } from '../../test-support/live-stack.ts';
import { tinyExperiment } from '../../test-support/tiny-experiment.ts';

/**
 * Real runs, disturbed in each phase. The promise: a disturbed run ends with the ledger of the undisturbed
 * run, byte for byte (it holds the hashes of all that the run made).
 */

let stack: LiveStack;
let undisturbed: string;
const ledger = (id: string): string => stack.ledger(id);
const start = (id: string) => stack.startRun(id, tinyExperiment());

beforeAll(async () => {
  stack = await LiveStack.start();
  await using worker = await stack.startWorker();
  await (await start('undisturbed')).result();
  undisturbed = ledger('undisturbed');
  await worker.stop();
}, 240_000);
afterAll(async () => stack[Symbol.asyncDispose](), 60_000);

describe('the ledger of a disturbed run equals that of the undisturbed one', () => {
  test('nobody disturbs it, and the training queue has a worker of its own', async () => {
    await using trainer = await stack.startWorker({ queues: 'gpu' });
    await using rest = await stack.startWorker({ queues: 'workflows,llm,cpu' });
    await (await start('again')).result();
    await Promise.all([trainer.stop(), rest.stop()]);
    expect(ledger('again')).toBe(undisturbed);
  }, 90_000);

  test.each([
    ['rollOut', '30ms'],
    ['trainAgent', '40ms'],
    ['commitEpoch', 'after'],
  ])(
    'the worker is killed in %s (%s)',
    async (activity, when) => {
      const id = `killed-${activity}`;
      const doomed = await stack.startWorker({ fault: `SIGKILL:${activity}:2:${when}` });
      const run = await start(id);
      await doomed.exited;
      await using worker = await stack.startWorker();
      await run.result();
      await worker.stop();
      expect(ledger(id)).toBe(undisturbed);
    },
    120_000,
  );

  test('the answer of a finished training step is lost', async () => {
    await using worker = await stack.startWorker({ fault: ':trainAgent:2:lost' });
    await (await start('lost')).result();
    await worker.stop();
    expect(ledger('lost')).toBe(undisturbed);
  }, 90_000);

  test('a training step never comes back: its place on the device, the only one, is taken by the next attempt', async () => {
    await using worker = await stack.startWorker({ fault: ':trainAgent:2:stuck' });
    await (await start('stuck')).result();
    await worker.stop();
    expect(ledger('stuck')).toBe(undisturbed);
  }, 120_000);

  test('the policy server is killed, and comes back', async () => {
    await using worker = await stack.startWorker({ fault: ':rollOut:2:before' });
    const run = await start('no-policy-server');
    stack.policy.signal('SIGKILL');
    await stack.policy.exited;
    stack.startPolicyServer();
    await run.result();
    await worker.stop();
    expect(ledger('no-policy-server')).toBe(undisturbed);
  }, 120_000);

  test('Temporal loses its database, and the same id is started again on an empty server', async () => {
    const doomed = await stack.startWorker({ fault: 'SIGKILL:drawTasks:3:before' });
    await start('forgotten');
    await doomed.exited;
    await stack.temporal.stop('SIGKILL');
    await stack.database.loseDatabase();
    stack.startTemporal();
    await stack.connect();
    expect(stack.entries('forgotten')).toHaveLength(3);
    await using worker = await stack.startWorker();
    await (await start('forgotten')).result();
    await worker.stop();
    expect(ledger('forgotten')).toBe(undisturbed);
  }, 120_000);
});
