import { statSync } from 'node:fs';
import { join } from 'node:path';
import { WithStartWorkflowOperation } from '@temporalio/client';
import type { WorkflowHandle } from '@temporalio/client';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { FieldValues } from '../../src/config/retune.ts';
import type { LedgerEntry } from '../../src/runs/ledger-entry.ts';
import type { RunEvent } from '../../src/runs/file-schemas.ts';
import { queues } from '../../src/workflows/activity-proxies.ts';
import type { experimentWorkflow as experiment } from '../../src/workflows/experiment.ts';
import {
  pauseUpdate,
  progressQuery,
  resumeUpdate,
  retuneUpdate,
  stopAfterEpochUpdate,
} from '../../src/workflows/messages.ts';
import type { EpochProgress } from '../../src/workflows/messages.ts';
import { searchAttributeKeys } from '../../src/workflows/progress.ts';
import { LiveStack } from '../../test-support/live-stack.ts';
import { until } from '../../test-support/processes.ts';
import type { TestProcess } from '../../test-support/processes.ts';
import { tinyExperiment } from '../../test-support/tiny-experiment.ts';
import { tinyWorkflowSettings } from '../../test-support/workflow-settings.ts';

/**
 * Every verb on a real run, on the parent and on its epoch: the state that follows, and the ledger in the
 * end.
 */

type Handle = WorkflowHandle<typeof experiment>;
const file = tinyExperiment();
let stack: LiveStack;
let worker: TestProcess;
let undisturbed: string;

const ledger = (id: string): string => stack.ledger(id);
const entries = (id: string): LedgerEntry[] => stack.entries(id);
const endings = async (id: string): Promise<RunEvent[]> =>
  (await stack.run(id).events()).filter(({ type }) => type === 'ended');
const start = (id: string, content: object = file): Promise<Handle> => stack.startRun(id, content);
const epochHandle = (id: string, epoch: number): WorkflowHandle =>
  stack.client.workflow.getHandle(`${id}/epoch-000${epoch}`);
const status = async (handle: WorkflowHandle): Promise<string> => (await handle.describe()).status.name;
const searchAttribute = async (handle: WorkflowHandle): Promise<unknown> =>
  (await handle.describe()).typedSearchAttributes.get(searchAttributeKeys.status);

/**
 * Waits until an epoch of the run is in a phase: one that lasts, since a short one may pass between two
 * looks.
 */
async function inPhase(id: string, epoch: number, phase: string): Promise<void> {
  await until(
    async () => {
      const there = await epochHandle(id, epoch)
        .query<EpochProgress>('epochProgress')
        .catch(() => undefined);
      return there?.phase === phase;
    },
    90_000,
    `${phase} of epoch ${epoch}`,
  );
}

/** The run's end, and that it is the one of a run that nobody disturbed. */
async function endsUndisturbed(handle: Handle): Promise<void> {
  expect(await handle.result()).toMatchObject({ outcome: 'finished', epochs: 3 });
  expect(ledger(handle.workflowId)).toBe(undisturbed);
}

beforeAll(async () => {
  stack = await LiveStack.shared();
  worker = await stack.startWorker();
  await (await start('undisturbed')).result();
  undisturbed = ledger('undisturbed');
}, 240_000);
afterAll(async () => stack[Symbol.asyncDispose](), 60_000);

describe('pause and resume', () => {
  test('hold the epoch before its next phase, through a restart of the worker, and change nothing else', async () => {
    const run = await start('paused');
    await inPhase('paused', 2, 'roll out');
    expect(await run.executeUpdate(pauseUpdate)).toEqual({ paused: true, stopAfterEpoch: false });
    await until(
      async () => (await epochHandle('paused', 2).query<EpochProgress>('epochProgress')).paused,
      20_000,
      'the epoch to hear of it',
    );
    await worker.stop();
    worker = await stack.startWorker();
    expect(await run.query(progressQuery)).toMatchObject({ status: 'paused', epoch: 2 });
    expect(await searchAttribute(run)).toBe('paused');
    const { phase } = await epochHandle('paused', 2).query<EpochProgress>('epochProgress');
    await new Promise((resolve) => setTimeout(resolve, 1_500));
    expect((await epochHandle('paused', 2).query<EpochProgress>('epochProgress')).phase).toBe(phase);
    expect(entries('paused')).toHaveLength(2);
    expect(await status(run)).toBe('RUNNING');
    expect(await run.executeUpdate(resumeUpdate)).toEqual({ paused: false, stopAfterEpoch: false });
    await endsUndisturbed(run);
  }, 240_000);

  test('resume is refused where nothing is paused', async () => {
    const run = await start('not-paused');
    await expect(run.executeUpdate(resumeUpdate)).rejects.toMatchObject({
      cause: { message: 'resume: the experiment is not paused' },
    });
    // A storm of updates, through continuing as new, is answered whole.
    const answers = [];
    for (let pair = 0; pair < 12; pair++)
      answers.push(await run.executeUpdate(pauseUpdate), await run.executeUpdate(resumeUpdate));
    expect(answers.map(({ paused }) => paused)).toEqual(
      Array.from({ length: 24 }, (_, index) => index % 2 === 0),
    );
    await endsUndisturbed(run);
    await expect(run.executeUpdate(pauseUpdate)).rejects.toThrow();
  }, 240_000);

  test('an update that comes with the start is the first thing that is done', async () => {
    const startWorkflowOperation = new WithStartWorkflowOperation<typeof experiment>('experiment', {
      args: [file],
      workflowId: 'with-start',
      taskQueue: queues.workflows,
      workflowIdConflictPolicy: 'FAIL',
    });
    expect(
      await stack.client.workflow.executeUpdateWithStart(pauseUpdate, { startWorkflowOperation }),
    ).toEqual({ paused: true, stopAfterEpoch: false });
    const run = stack.client.workflow.getHandle<typeof experiment>('with-start');
    expect(await run.query(progressQuery)).toMatchObject({ status: 'paused' });
    await run.executeUpdate(resumeUpdate);
    await endsUndisturbed(run);
  }, 240_000);

  test('what was asked is kept when the workflow continues as new', async () => {
    const plan = {
      run: { id: 'undisturbed', experiment: entries('undisturbed')[0]!.inputs.experiment },
      settings: tinyWorkflowSettings,
      searchAttributes: true,
    };
    /* eslint-disable id-denylist -- fields on the wire */
    const carried = {
      plan,
      known: 3,
      recent: { successRates: [0.5], epochSeconds: [1], heldOut: null, notes: [] },
      asked: { paused: true, stopAfterEpoch: false },
    };
    /* eslint-enable id-denylist */
    const run = await stack.client.workflow.start('experiment', {
      args: [null, carried],
      workflowId: plan.run.id,
      taskQueue: queues.workflows,
    });
    expect(await run.query(progressQuery)).toMatchObject({ status: 'paused', recentSuccessRates: [0.5] });
    await run.executeUpdate(resumeUpdate);
    expect(await run.result()).toMatchObject({ outcome: 'finished' });
  }, 90_000);
});

describe('retune', () => {
  test('holds from the next epoch on, and is among its inputs in the ledger; what is wrong is refused and changes nothing', async () => {
    const run = await start('retuned');
    await inPhase('retuned', 1, 'generate');
    await expect(
      run.executeUpdate(retuneUpdate, { args: [{ 'difficulty.alpha': 7 }] }),
    ).rejects.toMatchObject({
      cause: {
        cause: {
          message: expect.stringContaining(
            'difficulty.alpha: got 7; expected a number from 0 to 1',
          ) as string,
        },
      },
    });
    await expect(run.executeUpdate(retuneUpdate, { args: [[] as never] })).rejects.toMatchObject({
      cause: { message: expect.stringContaining('expected an object of settings') as string },
    });
    await run.executeUpdate(pauseUpdate);
    // Two at a time: neither takes the other's place.
    const changes = [{ 'difficulty.alpha': 0.3 }, { epochs: 4 }];
    const answers = await Promise.all(
      changes.map((change) => run.executeUpdate(retuneUpdate, { args: [change as FieldValues] })),
    );
    const { fromEpoch } = answers[0]!;
    expect(answers.map(({ settings }) => settings)).toContainEqual(
      expect.objectContaining({ 'difficulty.alpha': 0.3, epochs: 4 }),
    );
    await run.executeUpdate(resumeUpdate);
    expect(await run.result()).toMatchObject({ outcome: 'finished', epochs: 4 });
    expect(entries('retuned').map(({ inputs }) => inputs.settings['difficulty.alpha'])).toEqual(
      [0, 1, 2, 3, 4].map((epoch) => (epoch < fromEpoch ? 0.5 : 0.3)),
    );
    expect(fromEpoch).toBe(2);
  }, 240_000);
});

test('a retune during the preparation, and a schedule that begins with epoch 1, hold in epoch 1, which runs once', async () => {
  const id = 'prepared';
  const run = await start(
    id,
    tinyExperiment({ difficulty: { alphaSchedule: [{ fromEpoch: 1, alpha: 0.4 }] } }),
  );
  await until(async () => (await run.query(progressQuery)).phase === 'warm up', 90_000, 'the warm-up');
  const change = { 'difficulty.beta': 3 } as FieldValues;
  expect(await run.executeUpdate(retuneUpdate, { args: [change] })).toMatchObject({ fromEpoch: 1 });
  await run.result();
  expect((await run.query(progressQuery)).notes).toEqual([]);
  const inEpoch1 = entries(id)[1]!.inputs.settings;
  expect([inEpoch1['difficulty.alpha'], inEpoch1['difficulty.beta']]).toEqual([0.4, 3]);
}, 240_000);

describe('stop, cancel, terminate', () => {
  test('stopAfterEpoch ends as stopped after the epoch, not as a failure, and the same id continues', async () => {
    const run = await start('stopped');
    await inPhase('stopped', 1, 'train agent');
    expect(await run.executeUpdate(stopAfterEpochUpdate)).toEqual({ paused: false, stopAfterEpoch: true });
    expect(await run.result()).toMatchObject({ outcome: 'stopped', epochs: 1 });
    expect([await status(run), await searchAttribute(run)]).toEqual(['COMPLETED', 'stopped']);
    expect(await endings('stopped')).toMatchObject([{ outcome: 'stopped', epoch: 1 }]);
    await endsUndisturbed(await start('stopped'));
    expect(await searchAttribute(run)).toBe('finished');
  }, 240_000);

  test('cancel ends as cancelled, with what is under way saved', async () => {
    const run = await start('cancelled');
    await inPhase('cancelled', 2, 'train agent');
    await stack.temporalCli('workflow', 'cancel', '--workflow-id', 'cancelled');
    await expect(run.result()).rejects.toThrow();
    expect([await status(run), await searchAttribute(run)]).toEqual(['CANCELLED', 'cancelled']);
    expect(await endings('cancelled')).toMatchObject([{ outcome: 'cancelled', epoch: 1 }]);
    await endsUndisturbed(await start('cancelled'));
  }, 240_000);

  test('terminate leaves a ledger that can be gone on with', async () => {
    const run = await start('terminated');
    await inPhase('terminated', 2, 'roll out');
    await stack.temporalCli('workflow', 'terminate', '--workflow-id', 'terminated');
    expect(await status(run)).toBe('TERMINATED');
    await endsUndisturbed(await start('terminated'));
  }, 240_000);

  test('a phase that fails for good ends as failed, with its reason, and the same id continues', async () => {
    const content = { ...file, durability: { ...(file.durability as object), maxPhaseAttempts: 1 } };
    await worker.stop();
    worker = await stack.startWorker({ fault: ':computeRewards:2:lost' });
    const run = await start('failed', content);
    await expect(run.result()).rejects.toThrow();
    expect([await status(run), await searchAttribute(run)]).toEqual(['FAILED', 'failed']);
    expect(await endings('failed')).toMatchObject([
      { outcome: 'failed', epoch: 1, reason: 'the answer was lost' },
    ]);
    expect(await (await start('failed', content)).result()).toMatchObject({ outcome: 'finished', epochs: 3 });
    expect(entries('failed').at(-1)!.outputs).toEqual(entries('undisturbed').at(-1)!.outputs);
  }, 240_000);
});

describe('an epoch that is ended from outside is run again by its parent', () => {
  test.each<[string, (id: string) => Promise<unknown>, string]>([
    ['terminated', (id) => stack.temporalCli('workflow', 'terminate', '--workflow-id', id), 'roll out'],
    ['cancelled', (id) => stack.temporalCli('workflow', 'cancel', '--workflow-id', id), 'train environment'],
    [
      'reset',
      (id) =>
        stack.temporalCli(
          'workflow',
          'reset',
          '--workflow-id',
          id,
          '--type',
          'FirstWorkflowTask',
          '--reason',
          'test',
        ),
      'train agent',
    ],
  ])(
    '%s',
    async (name, verb, phase) => {
      const id = `epoch-${name}`;
      const run = await start(id);
      await inPhase(id, 2, phase);
      await verb(`${id}/epoch-0002`);
      await endsUndisturbed(run);
    },
    240_000,
  );
});

describe('a reset of the experiment', () => {
  test.each(['FirstWorkflowTask', 'LastWorkflowTask'])(
    'to its %s retrains no committed epoch',
    async (type) => {
      const id = `reset-${type}`;
      const run = await start(id);
      await inPhase(id, 2, 'roll out');
      const key = join(stack.home, 'store', 'keys', id, '0001', 'train-agent');
      const made = statSync(key).mtimeMs;
      await stack.temporalCli('workflow', 'reset', '--workflow-id', id, '--type', type, '--reason', 'test');
      await endsUndisturbed(run);
      expect(statSync(key).mtimeMs).toBe(made);
    },
    240_000,
  );
});

describe('an activity', () => {
  test('that is paused and let go, or reset, changes nothing', async () => {
    const run = await start('activity');
    await inPhase('activity', 2, 'train agent');
    const id = 'activity/epoch-0002';
    const { raw } = await stack.client.workflow.getHandle(id).describe();
    const pending = raw.pendingActivities?.[0]?.activityId;
    if (typeof pending === 'string') {
      await stack
        .temporalCli('activity', 'pause', '--workflow-id', id, '--activity-id', pending)
        .catch(() => undefined);
      await stack
        .temporalCli('activity', 'unpause', '--workflow-id', id, '--activity-id', pending)
        .catch(() => undefined);
      await stack
        .temporalCli('activity', 'reset', '--workflow-id', id, '--activity-id', pending)
        .catch(() => undefined);
    }
    await endsUndisturbed(run);
  }, 240_000);
});
