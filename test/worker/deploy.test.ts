import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { queues } from '../../src/workflows/queues.ts';
import { LiveStack } from '../support/live-stack.ts';
import { tinyExperiment } from '../support/tiny-experiment.ts';

/** Workers that are stopped, restarted and replaced under a real run: it ends with the ledger of the run nobody disturbed. */

const durability = { shards: 2, promptsPerRequest: 4, heartbeatSeconds: 5, requestTimeoutSeconds: 4, epochsPerRun: 2, maxPhaseAttempts: 1 };
const file = tinyExperiment({ epochs: 2, durability });
let stack: LiveStack;
let undisturbed: string;
const ledger = (id: string): string => readFileSync(join(stack.home, 'runs', id, 'ledger.jsonl'), 'utf8');
const events = (id: string): string => readFileSync(join(stack.home, 'runs', id, 'events.jsonl'), 'utf8');
const start = (id: string, input: unknown = file) => stack.client.workflow.start('experiment', { args: [input], workflowId: id, taskQueue: queues.workflows });

beforeAll(async () => {
  stack = await LiveStack.start();
  await stack.policyReady();
  await using worker = await stack.startWorker();
  await (await start('undisturbed')).result();
  undisturbed = ledger('undisturbed');
  await worker.stop();
}, 240_000);
afterAll(async () => stack[Symbol.asyncDispose](), 60_000);

describe('a worker that is told to stop lets go at once, and no attempt is used up', () => {
  test.each([
    ['generateTasks', '5ms'],
    ['rollOut', '20ms'],
    ['computeRewards', 'before'],
    ['trainAgent', '40ms'],
  ])('in %s (%s)', async (activity, when) => {
    const id = `stopped-${activity}`;
    const told = await stack.startWorker({ fault: `SIGTERM:${activity}:2:${when}` });
    const run = await start(id);
    expect(await told.exited, told.output).toBe(0);
    await using worker = await stack.startWorker();
    await run.result();
    await worker.stop();
    expect(ledger(id)).toBe(undisturbed);
    if (when !== 'before') expect(events(id)).toContain('"worker-stopped"');
    expect(events(id)).not.toContain('"attempt":2');
  }, 120_000);
});
