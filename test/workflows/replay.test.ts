import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { bundleWorkflowCode, Worker } from '@temporalio/worker';
import type { WorkflowBundle } from '@temporalio/worker';
import { DeterminismViolationError } from '@temporalio/workflow';
import { beforeAll, expect, test } from 'vitest';
import type { Dependencies } from '../../src/activities/dependencies.ts';
import { activitiesByQueue } from '../../src/activities/index.ts';
import { queues } from '../../src/workflows/activity-proxies.ts';

/**
 * Histories of real runs (test-support/record-histories.ts records them): code that no longer replays them
 * would break runs that are in progress.
 */

type History = {
  events: {
    eventType: string;
    activityTaskScheduledEventAttributes?: { activityType: { name: string }; taskQueue: { name: string } };
  }[];
};

const workflowsPath = fileURLToPath(new URL('../../src/workflows/index.ts', import.meta.url));
const readHistory = (name: string): History =>
  JSON.parse(readFileSync(new URL(`histories/${name}.json`, import.meta.url), 'utf8')) as History;
let workflowBundle: WorkflowBundle;

beforeAll(async () => {
  workflowBundle = await bundleWorkflowCode({ workflowsPath });
});

const replay = (history: History, workflowId: string): Promise<void> =>
  Worker.runReplayHistory({ workflowBundle }, history, workflowId);

const histories = [
  ['experiment', 'recorded'],
  ['epoch', 'recorded/epoch-0001'],
  ['comparison', 'recorded-comparison'],
  ['evaluation', 'recorded-evaluation'],
  ['nightly', 'recorded-night'],
  // Cancelled in the agent's training.
  ['experiment-cancelled', 'recorded-cancelled'],
  ['epoch-cancelled', 'recorded-cancelled/epoch-0001'],
  // Without a model server, when the retries of an activity were all that waited for it.
  ['experiment-away', 'recorded-away'],
] as const;

test.each(histories)('the stored history of the workflow %s replays', async (name, workflowId) => {
  await expect(replay(readHistory(name), workflowId)).resolves.toBeUndefined();
});

test.each(histories)(
  'what the stored history of the workflow %s scheduled is served by the queue that it is on',
  (name) => {
    const served = Object.entries(activitiesByQueue({} as Dependencies)).flatMap(([queue, activities]) =>
      Object.keys(activities).map((activity) => `${queues[queue as keyof typeof queues]} ${activity}`),
    );
    const scheduled = readHistory(name).events.flatMap(({ activityTaskScheduledEventAttributes: event }) =>
      event ? [`${event.taskQueue.name} ${event.activityType.name}`] : [],
    );
    expect(scheduled.length).toBeGreaterThan(5);
    expect(served).toEqual(expect.arrayContaining(scheduled));
  },
);

test('a doctored history, in which the filter ran before the rewards, does not replay', async () => {
  const history = readHistory('epoch');
  const scheduled = history.events.filter(
    ({ activityTaskScheduledEventAttributes: event }) => event?.activityType.name === 'computeRewards',
  );
  expect(scheduled).toHaveLength(1);
  scheduled[0]!.activityTaskScheduledEventAttributes!.activityType.name = 'filterByDifficulty';
  await expect(replay(history, 'recorded/epoch-0001')).rejects.toThrow(DeterminismViolationError);
});
