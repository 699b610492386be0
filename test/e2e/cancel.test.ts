import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { parseExperiment } from '../../src/config/parse-experiment.ts';
import { RunFolder } from '../../src/runs/run-folder.ts';
import type { Progress } from '../../src/types/activity-types.ts';
import { queues } from '../../src/workflows/activity-proxies.ts';
import type { EpochProgress } from '../../src/workflows/messages.ts';
import { withFields } from '../../test-support/experiments.ts';
import { InstantStack } from '../../test-support/instant-stack.ts';
import { until } from '../../test-support/processes.ts';
import { tinyExperiment } from '../../test-support/tiny-experiment.ts';

/** A cancellation while a model server takes its time, on a real Temporal server and a real worker. */

const file = withFields(tinyExperiment(), {
  'durability.requestTimeoutSeconds': 600,
  'durability.heartbeatSeconds': 660,
});
let stack: InstantStack;
beforeAll(async () => {
  stack = await InstantStack.start(parseExperiment(file).world);
}, 240_000);
afterAll(() => stack[Symbol.asyncDispose](), 60_000);

const start = (workflowId: string) =>
  stack.client.workflow.start('experiment', {
    args: [file],
    workflowId,
    taskQueue: queues.workflows,
  });

test('a cancelled run lets go of a request that may take 600 s within 5 s, and resumes', async () => {
  await (await start('undisturbed')).result();
  const handle = await start('cancelled');
  const epoch = stack.client.workflow.getHandle('cancelled/epoch-0002');
  await until(
    () =>
      epoch.query<EpochProgress>('epochProgress').then(
        () => true,
        () => false,
      ),
    60_000,
    'the second epoch',
  );
  const hung = stack.models.hang();
  await until(() => hung.requests > 0, 30_000, 'a request that hangs');
  const began = Date.now();
  await handle.cancel();
  await expect(handle.result()).rejects.toThrow(/cancel/i);
  const seconds = (Date.now() - began) / 1000;
  console.log(`cancelled after ${seconds} s`);
  expect(seconds).toBeLessThan(5);
  const { notes, status } = await handle.query<Progress>('progress');
  expect(status).toBe('cancelled');
  expect(notes.filter((note) => note.includes('run again'))).toEqual([]);

  hung.end();
  expect(await (await start('cancelled')).result()).toMatchObject({ outcome: 'finished' });
  const [expected, actual] = ['undisturbed', 'cancelled'].map((id) =>
    readFileSync(new RunFolder(join(stack.home, 'runs'), id).ledgerFile, 'utf8'),
  );
  expect(actual).toBe(expected);
}, 240_000);
