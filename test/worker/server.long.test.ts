import { existsSync, mkdtempSync } from 'node:fs';
import { join } from 'node:path';
import type { temporal } from '@temporalio/proto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { queues } from '../../src/workflows/activity-proxies.ts';
import { LiveStack } from '../../test-support/live-stack.ts';
import { freePort } from '../../test-support/free-port.ts';
import { until } from '../../test-support/processes.ts';
import { tinyExperiment } from '../../test-support/tiny-experiment.ts';

/**
 * A Temporal server that comes late, goes, forgets, or is strict; queues that experiments and hosts share.
 * Each run ends with the ledger of the undisturbed one.
 */

const durability = {
  shards: 4,
  promptsPerRequest: 4,
  heartbeatSeconds: 5,
  requestTimeoutSeconds: 4,
  epochsPerRun: 1,
};
const file = tinyExperiment({ epochs: 2, durability });
let stack: LiveStack;
let undisturbed: string;
const ledger = (id: string): string => stack.ledger(id);
const start = (id: string, input: unknown = file) => stack.startRun(id, input);
const phaseDone = (id: string, epoch: number, phase: string): Promise<void> => {
  const key = join(stack.home, 'store', 'keys', id, String(epoch).padStart(4, '0'), phase);
  return until(() => existsSync(key), 90_000, key);
};

const epochsOf = (id: string): string[] => ['0001', '0002'].map((epoch) => `${id}/epoch-${epoch}`);
/** Who ran each activity of a queue in these workflows, and when. */
async function activitiesOf(
  workflows: readonly string[],
  queue: string,
): Promise<{ identity: string; from: number; to: number }[]> {
  const ms = (time: temporal.api.history.v1.IHistoryEvent['eventTime']): number =>
    Number(time?.seconds ?? 0) * 1000 + (time?.nanos ?? 0) / 1e6;
  const activities = [];
  for (const id of workflows) {
    const events = (await stack.client.workflow.getHandle(id).fetchHistory()).events ?? [];
    const byId = new Map(events.map((event) => [Number(event.eventId), event]));
    for (const { activityTaskCompletedEventAttributes: completed, eventTime } of events) {
      if (
        !completed ||
        byId.get(Number(completed.scheduledEventId))?.activityTaskScheduledEventAttributes?.taskQueue
          ?.name !== queue
      )
        continue;
      const began = byId.get(Number(completed.startedEventId));
      activities.push({
        identity: began?.activityTaskStartedEventAttributes?.identity ?? '',
        from: ms(began?.eventTime),
        to: ms(eventTime),
      });
    }
  }
  return activities;
}

beforeAll(async () => {
  stack = await LiveStack.start();
  await stack.policyReady();
  await using worker = await stack.startWorker();
  await (await start('undisturbed')).result();
  undisturbed = ledger('undisturbed');
  await worker.stop();
}, 900_000);
afterAll(async () => stack[Symbol.asyncDispose](), 60_000);

test('two experiments share one slot for training: never two jobs at once, and both end as if alone', async () => {
  await using worker = await stack.startWorker();
  const runs = await Promise.all(['left', 'right'].map((id) => start(id)));
  await Promise.all(runs.map((run) => run.result()));
  await worker.stop();
  for (const id of ['left', 'right']) expect(ledger(id)).toBe(undisturbed);
  const jobs = (await Promise.all(['left', 'right'].map((id) => activitiesOf(epochsOf(id), queues.gpu))))
    .flat()
    .sort((a, b) => a.from - b.from);
  expect(jobs).toHaveLength(8);
  for (const [index, job] of jobs.entries())
    expect(job.from).toBeGreaterThanOrEqual(jobs[index - 1]?.to ?? 0);
}, 120_000);

test('a worker that is allowed two training jobs warms up both policies at once, where the device is a processor', async () => {
  await using worker = await stack.startWorker({ environment: { GENENV_TRAINING_JOBS: '2' } });
  // Another seed: else there is nothing left to warm up.
  await (await start('both', { ...file, seed: 71, epochs: 1 })).result();
  await worker.stop();
  const [first, second] = await activitiesOf(['both'], queues.gpu);
  expect(first!.from).toBeLessThan(second!.to);
  expect(second!.from).toBeLessThan(first!.to);
}, 120_000);

test('two hosts, with the store and the runs folder in common, share one experiment', async () => {
  const shared = { GENENV_STORE: join(stack.home, 'store'), GENENV_RUNS: join(stack.home, 'runs') };
  const host = (name: string) => ({ ...shared, GENENV_HOME: mkdtempSync(join(stack.home, `${name}-`)) });
  await using trains = await stack.startWorker({ environment: host('trains') });
  await using samples = await stack.startWorker({ queues: 'llm', environment: host('samples') });
  await (await start('two-hosts')).result();
  await Promise.all([trains.stop(), samples.stop()]);
  expect(ledger('two-hosts')).toBe(undisturbed);
  const identities = async (queue: string): Promise<Set<string>> =>
    new Set((await activitiesOf(epochsOf('two-hosts'), queue)).map(({ identity }) => identity));
  expect((await identities(queues.llm)).size).toBe(2);
  expect(await identities(queues.gpu)).toEqual(new Set([[...(await identities(queues.cpu))][0]]));
}, 120_000);

test('the server comes late, goes, and comes back with an older copy of its database', async () => {
  await stack.temporal.stop('SIGKILL');
  const waits = stack.launchWorker();
  await waits.says('waiting for Temporal');
  waits.signal('SIGTERM');
  expect(await waits.exited, waits.output).toBe(0);
  const port = await freePort();
  const health = async (): Promise<number> =>
    (await fetch(`http://127.0.0.1:${port}/health`).catch(() => ({ status: 0 }))).status;
  const healthy = (ok: boolean): Promise<void> =>
    until(
      async () => (await health()) === (ok ? 200 : 503),
      60_000,
      `a worker that is ${ok ? '' : 'not '}healthy`,
    );
  await using worker = stack.launchWorker({ environment: { GENENV_HEALTH_PORT: String(port) } });
  await healthy(false);
  stack.startTemporal();
  await stack.connect();
  await healthy(true);

  const run = await start('rolled-back');
  await phaseDone('rolled-back', 1, 'draw');
  await stack.temporal.stop('SIGTERM');
  await healthy(false);
  await stack.database.copyDatabase('older');
  stack.startTemporal();
  await healthy(true);
  await phaseDone('rolled-back', 1, 'train-agent');
  await stack.temporal.stop('SIGKILL');
  await stack.database.restoreDatabase('older');
  stack.startTemporal();
  await stack.connect();
  await healthy(true);
  await stack.client.workflow.getHandle(run.workflowId).result();
  await worker.stop();
  expect(ledger('rolled-back')).toBe(undisturbed);
  expect(worker.output.split('workflows are read again')).toHaveLength(3);
}, 180_000);

test('low limits of history and payload are met: references only, and continue-as-new', async () => {
  await stack.temporal.stop('SIGTERM');
  stack.startTemporal(
    'matching.enableFairness=true',
    'limit.historyCount.suggestContinueAsNew=10',
    'limit.blobSize.warn=4096',
    'limit.blobSize.error=8192',
  );
  await stack.connect();
  await using worker = await stack.startWorker();
  await (await start('low-limits')).result();
  await worker.stop();
  expect(ledger('low-limits')).toBe(undisturbed);
  await expect(start('too-large', { ...file, description: 'x'.repeat(9000) })).rejects.toMatchObject({
    cause: { message: expect.stringMatching(/size exceeds/) as string },
  });
}, 120_000);
