import { readFileSync } from 'node:fs';
import { bundleWorkflowCode, Worker } from '@temporalio/worker';
import type { WorkflowBundle } from '@temporalio/worker';
import { DeterminismViolationError } from '@temporalio/workflow';
import { beforeAll, describe, expect, test } from 'vitest';
import type { Dependencies } from '../../src/activities/dependencies.ts';
import { activitiesByQueue } from '../../src/activities/index.ts';
import { createDataConverter } from '../../src/temporal/data-converter.ts';
import { fromJsonPayload, toJsonPayload } from '../../src/temporal/json-payload.ts';
import type { JsonPayload } from '../../src/temporal/json-payload.ts';
import { queues } from '../../src/workflows/activity-proxies.ts';
import { checkInput } from '../../src/worker/activity-interceptor.ts';
import { workflowSources } from '../../src/worker/workflow-sources.ts';
import { keysOf, keyText } from '../temporal/some-keys.ts';

/**
 * Histories of real runs (test-support/record-histories.ts records them): code that no longer replays them
 * would break runs that are in progress.
 */

type History = {
  events: {
    eventType: string;
    activityTaskScheduledEventAttributes?: {
      activityType: { name: string };
      taskQueue: { name: string };
      input: { payloads: { data: string }[] };
    };
  }[];
};

const readHistory = (name: string): History =>
  JSON.parse(readFileSync(new URL(`histories/${name}.json`, import.meta.url), 'utf8')) as History;
let workflowBundle: WorkflowBundle;

beforeAll(async () => {
  workflowBundle = await bundleWorkflowCode(workflowSources());
});

const replay = (history: History, workflowId: string): Promise<void> =>
  Worker.runReplayHistory({ workflowBundle }, history, workflowId);

const dataConverter = createDataConverter(keysOf(keyText('a')));

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

test.each(histories)('the schemas accept every input of an activity in the history of %s', (name) => {
  const scheduled = readHistory(name).events.flatMap((event) => {
    const attributes = event.activityTaskScheduledEventAttributes;
    return attributes === undefined ? [] : [attributes];
  });
  expect(scheduled.length).toBeGreaterThan(0);
  for (const { activityType, input } of scheduled)
    checkInput(
      activityType.name,
      input.payloads.map(({ data }) => JSON.parse(Buffer.from(data, 'base64').toString('utf8')) as unknown),
    );
});

describe('with payload keys', () => {
  beforeAll(async () => {
    const { failureConverterPath } = dataConverter;
    workflowBundle = await bundleWorkflowCode({
      ...workflowSources(),
      failureConverterPath: failureConverterPath!,
    });
  });

  test.each(histories)('the plain history of the workflow %s replays', async (name, workflowId) => {
    const replayed = Worker.runReplayHistory(
      { workflowBundle, dataConverter },
      readHistory(name),
      workflowId,
    );
    await expect(replayed).resolves.toBeUndefined();
  });

  test.each(histories)('the history of the workflow %s replays once it is encrypted', async (name, id) => {
    const [codec] = dataConverter.payloadCodecs!;
    let encrypted = 0;
    /** Payloads as a history's JSON has them. */
    const encrypt = async (value: unknown): Promise<unknown> => {
      if (Array.isArray(value)) return Promise.all(value.map(encrypt));
      if (typeof value !== 'object' || value === null) return value;
      if ('metadata' in value && 'data' in value) {
        encrypted += 1;
        return toJsonPayload((await codec!.encode([fromJsonPayload(value as JsonPayload)]))[0]!);
      }
      const entries = Object.entries(value).map(async ([field, content]) => [
        field,
        // No codec ever sees these.
        field === 'searchAttributes' || field === 'header' ? (content as unknown) : await encrypt(content),
      ]);
      return Object.fromEntries(await Promise.all(entries)) as unknown;
    };
    const history = (await encrypt(readHistory(name))) as History;
    expect(encrypted).toBeGreaterThan(5);
    await expect(
      Worker.runReplayHistory({ workflowBundle, dataConverter }, history, id),
    ).resolves.toBeUndefined();
    await expect(
      Worker.runReplayHistory({ workflowBundle, dataConverter: createDataConverter([]) }, history, id),
    ).rejects.toThrow();
  });
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
