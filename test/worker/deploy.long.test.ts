import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { epochWorkflowId } from '../../src/formats/epoch-id.ts';
import { pauseUpdate, resumeUpdate } from '../../src/workflows/messages.ts';
import { LiveStack } from '../../test-support/live-stack.ts';
import { until } from '../../test-support/processes.ts';
import type { TestProcess } from '../../test-support/processes.ts';
import { tinyExperiment } from '../../test-support/tiny-experiment.ts';

/**
 * Workers that are stopped, restarted and replaced under a real run: it ends with the ledger of the run
 * nobody disturbed.
 */

const durability = {
  shards: 2,
  promptsPerRequest: 4,
  heartbeatSeconds: 5,
  requestTimeoutSeconds: 4,
  epochsPerRun: 1,
  maxPhaseAttempts: 5,
};
const file = tinyExperiment({ epochs: 2, durability });
let stack: LiveStack;
let undisturbed: string;
const ledger = (id: string): string => stack.ledger(id);
const events = (id: string): string => readFileSync(stack.run(id).eventsFile, 'utf8');
const start = (id: string, input: unknown = file) => stack.startRun(id, input);
/** Phases, and shards of them, that a run has done. */
function done(id: string): number {
  const keys = join(stack.home, 'store', 'keys', id);
  return existsSync(keys)
    ? readdirSync(keys, { recursive: true }).filter((name) => String(name).endsWith('.json')).length
    : 0;
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

/**
 * Why an attempt after the first began, of both epochs. A server may hand a task to a poll of the worker in the
 * moment in which it ends: nobody reads that task, and it is lost until its heartbeat timeout. That is no attempt of
 * the worker.
 */
async function retryReasons(id: string): Promise<string[]> {
  const reasons: string[] = [];
  for (const epoch of [1, 2]) {
    const handle = stack.client.workflow.getHandle(epochWorkflowId(id, epoch));
    const { events: history } = await handle.fetchHistory();
    for (const { activityTaskStartedEventAttributes: started } of history ?? []) {
      if (!started || started.attempt! < 2) continue;
      const { message, timeoutFailureInfo: timeout } = started.lastFailure!;
      const isLost = message === 'activity Heartbeat timeout' && !timeout!.lastHeartbeatDetails;
      if (!isLost) reasons.push(`epoch ${epoch}: ${message}`);
    }
  }
  return reasons;
}

describe('a worker that is told to stop lets go at once, and no attempt is used up', () => {
  test.each([
    ['rollOut', '20ms'],
    ['trainAgent', '40ms'],
  ])(
    'in %s (%s)',
    async (activity, when) => {
      const id = `stopped-${activity}`;
      const stoppedWorker = await stack.startWorker({ fault: `SIGTERM:${activity}:2:${when}` });
      const run = await start(id);
      expect(await stoppedWorker.exited, stoppedWorker.output).toBe(0);
      await using worker = await stack.startWorker();
      await run.result();
      await worker.stop();
      expect(ledger(id)).toBe(undisturbed);
      expect(events(id)).toContain('"worker-stopped"');
      expect(await retryReasons(id)).toEqual([]);
    },
    120_000,
  );
});

describe('workflows are replayed anywhere', () => {
  const caching = (workflows: number) => ({
    environment: { GENENV_MAX_CACHED_WORKFLOWS: String(workflows) },
  });

  test('with none in memory', async () => {
    await using worker = await stack.startWorker(caching(0));
    await (await start('uncached')).result();
    await worker.stop();
    expect(ledger('uncached')).toBe(undisturbed);
    expect(worker.output).not.toMatch(/nondeterminism|TMPRL1100/i);
  }, 90_000);

  test('by a new worker every few tasks', async () => {
    const run = await start('restarted');
    let ended = false;
    const result = run.result().finally(() => (ended = true));
    let workers = 0;
    for (; !ended; workers++) {
      await using worker = await stack.startWorker(caching(workers % 3));
      const before = done('restarted');
      await until(() => ended || done('restarted') >= before + 8, 60_000, 'a few tasks');
      await worker.stop();
      expect(worker.output).not.toMatch(/nondeterminism|TMPRL1100/i);
    }
    await result;
    expect(workers).toBeGreaterThan(2);
    expect(ledger('restarted')).toBe(undisturbed);
  }, 180_000);
});

// Last: once a version is the current one, workers without a version get no new runs.
describe('deployment versions', () => {
  const deployed = (buildId: string): Promise<TestProcess> =>
    stack.startWorker({
      environment: { TEMPORAL_DEPLOYMENT_NAME: 'genenv', TEMPORAL_WORKER_BUILD_ID: buildId },
    });
  const makeCurrent = (buildId: string): Promise<void> =>
    until(
      () =>
        stack
          .temporalCli(
            'worker',
            'deployment',
            'set-current-version',
            '--deployment-name',
            'genenv',
            '--build-id',
            buildId,
            '--yes',
          )
          .then(
            () => true,
            () => false,
          ),
      60_000,
      `${buildId} to be current`,
    );
  const versionOf = async (workflowId: string): Promise<string | null | undefined> =>
    (await stack.client.workflow.getHandle(workflowId).describe()).raw.workflowExecutionInfo?.versioningInfo
      ?.deploymentVersion?.buildId;

  /** Whether the server tells a pinned run that another version is current. */
  const upgrades = async (): Promise<boolean> => {
    const [major, minor] = (await stack.client.workflowService.getSystemInfo({})).serverVersion
      .split('.')
      .map(Number) as [number, number];
    return major > 1 || minor >= 31;
  };

  test('a run stays on the version it began on, new ones take the current one, and one is moved between epochs', async ({
    skip,
  }) => {
    skip(await upgrades(), 'this server lets runs move by themselves: the next test');
    await using old = await deployed('v1');
    await makeCurrent('v1');
    await using current = await deployed('v2');
    const runs = await Promise.all(['stays', 'moves'].map((id) => start(id)));
    // Held in what comes before epoch 2, however slow the commands below are.
    await Promise.all(runs.map((run) => run.executeUpdate(pauseUpdate)));
    await makeCurrent('v2');
    const version = [
      '--versioning-override-behavior',
      'pinned',
      '--versioning-override-deployment-name',
      'genenv',
      '--versioning-override-build-id',
      'v2',
    ];
    await stack.temporalCli('workflow', 'update-options', '--workflow-id', 'moves', ...version);
    await Promise.all(runs.map((run) => run.executeUpdate(resumeUpdate)));
    runs.push(await start('begins'));
    await Promise.all(runs.map((run) => run.result()));
    await Promise.all([old.stop(), current.stop()]);
    for (const id of ['stays', 'moves', 'begins']) expect(ledger(id)).toBe(undisturbed);
    const versions = await Promise.all(
      ['stays', 'stays/epoch-0002', 'moves', 'moves/epoch-0002', 'begins', 'begins/epoch-0001'].map(
        versionOf,
      ),
    );
    expect(versions).toEqual(['v1', 'v1', 'v2', 'v2', 'v2', 'v2']);
  }, 180_000);

  test('a run moves to the current version by itself when it continues as new', async ({ skip }) => {
    skip(!(await upgrades()), 'it takes a Temporal server of 1.31 or newer');
    await using old = await deployed('v3');
    await makeCurrent('v3');
    const run = await start('upgrades');
    await run.executeUpdate(pauseUpdate);
    await using current = await deployed('v4');
    await makeCurrent('v4');
    await run.executeUpdate(resumeUpdate);
    await run.result();
    await Promise.all([old.stop(), current.stop()]);
    expect(ledger('upgrades')).toBe(undisturbed);
    expect(await Promise.all(['upgrades', 'upgrades/epoch-0002'].map(versionOf))).toEqual(['v4', 'v4']);
  }, 180_000);
});
