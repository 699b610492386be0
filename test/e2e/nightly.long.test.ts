import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { NightSchedule } from '../../src/cli/lib/schedules.ts';
import type { Experiment } from '../../src/config/experiment.ts';
import { NightlyFolder } from '../../src/runs/result-folders.ts';
import { RunFolder } from '../../src/runs/run-folder.ts';
import type { NightRecord } from '../../src/types/nightly-types.ts';
import { queues } from '../../src/workflows/activity-proxies.ts';
import type { nightlyWorkflow as nightly, NightResult } from '../../src/workflows/nightly.ts';
import { withFields } from '../../test-support/experiments.ts';
import { LiveStack } from '../../test-support/live-stack.ts';
import { until } from '../../test-support/processes.ts';
import type { TestProcess } from '../../test-support/processes.ts';
import { tinyExperiment } from '../../test-support/tiny-experiment.ts';
import { genenv } from '../cli/genenv-process.ts';

/**
 * Nights on a real server with real models: by a schedule of seconds, disturbed, and with an agent that is
 * really ruined.
 */

/** An agent that solves a fifth of the held-out tasks, so that it can get worse. */
const experiment = withFields(tinyExperiment(), {
  name: 'tiny',
  'world.symbols': 3,
  'world.heldOutLengths': [1, 2],
  'world.heldOutPerCell': 4,
  'world.warmUp': { symbolAccuracy: 1 },
  'agent.training.maxKl': null,
});
const file = (name: string, changes: Record<string, unknown> = {}) => ({
  name,
  epochsPerNight: 1,
  evaluation: { samples: 4 },
  experiment,
  ...changes,
});
/** A hundred times the learning rate that works. */
const ruinous = withFields(experiment, { 'agent.training.learningRate': 0.5 });

let stack: LiveStack;
let worker: TestProcess;

const record = (name: string): Promise<NightRecord[]> =>
  new NightlyFolder(join(stack.home, 'nightly'), name).nights();
const run = (id: string): RunFolder => new RunFolder(join(stack.home, 'runs'), id);
const settings = async (id: string): Promise<Experiment> =>
  (await run(id).readExperiment())?.experiment as Experiment;
const start = (content: unknown, workflowId: string) =>
  stack.client.workflow.start<typeof nightly>('nightly', {
    args: [content],
    workflowId,
    taskQueue: queues.workflows,
  });
const night = async (content: unknown, workflowId: string): Promise<NightResult> =>
  (await start(content, workflowId)).result();
const decided = (name: string, nights: number): Promise<void> =>
  until(async () => (await record(name)).length >= nights, 200_000, `${nights} nights of ${name}`);

async function cli(...args: string[]): Promise<string> {
  const { code, out, err } = await genenv([...args, '--address', stack.address], { GENENV_HOME: stack.home });
  expect(code, `${args.join(' ')}: ${err}`).toBe(0);
  return out;
}
const schedules = async (): Promise<NightSchedule[]> =>
  JSON.parse(await cli('schedule', 'list', '--json')) as NightSchedule[];
const facts = async (id: string): Promise<NightSchedule> =>
  (await schedules()).find((schedule) => schedule.id === id)!;
const nothingRuns = (id: string): Promise<void> =>
  until(async () => (await facts(id)).running === null, 90_000, `the end of the night of ${id}`);

function inputFile(content: unknown): string {
  const path = join(stack.home, 'nightly-input.json');
  writeFileSync(path, JSON.stringify(content));
  return path;
}

beforeAll(async () => {
  stack = await LiveStack.start();
  worker = await stack.startWorker();
}, 240_000);
afterAll(async () => stack[Symbol.asyncDispose](), 60_000);

describe('a schedule of seconds', () => {
  test('a night promotes, the next continues from it; a firing under a running night is skipped and counted', async () => {
    expect(await cli('schedule', 'create', inputFile(file('clock')), '--every', '1s')).toContain(
      'Created the schedule clock',
    );
    await decided('clock', 2);
    await cli('schedule', 'pause', 'clock', '--note', 'enough');
    await nothingRuns('clock');
    const [first, second] = await record('clock');
    expect(first).toMatchObject({
      night: 1,
      outcome: 'promoted',
      standing: { run: 'clock-night-0001', epoch: 1 },
      test: { tasks: 16, samples: 4, significance: 0.05 },
    });
    expect(first?.reason).toMatch(
      /not shown to be worse \(one-sided sign test, p = [\d.]+, above 0.05\): success [\d.]+ % before/,
    );
    expect(second).toMatchObject({
      night: 2,
      outcome: 'promoted',
      candidate: { run: 'clock-night-0002', epoch: 2 },
    });
    expect(await run('clock-night-0002').readFork()).toMatchObject({ run: 'clock-night-0001', epoch: 1 });
    expect(first?.test?.verdicts.before[0]?.sha256).not.toBe(second?.test?.verdicts.before[0]?.sha256);

    const { recentActions } = (await stack.client.schedule.getHandle('clock').describe()).info;
    expect(recentActions[0]?.action.workflow.workflowId).toMatch(/^clock-\d{4}-.*:\d{2}Z$/);
    expect(
      await stack.client.workflow.getHandle(recentActions[0]!.action.workflow.workflowId).result(),
    ).toMatchObject({ name: 'clock', ...first });
    const clock = await facts('clock');
    expect(clock).toMatchObject({ name: 'clock', paused: true, note: 'enough', missed: 0, next: null });
    expect(clock.ran).toBeGreaterThanOrEqual(2);
    expect(clock.skipped).toBeGreaterThanOrEqual(1);
    const status = await cli('status');
    expect(status).toMatch(
      new RegExp(`^clock +paused +– +${clock.ran} +0 +${clock.skipped} +\\d+ promoted`, 'm'),
    );
    expect(status).toContain('clock is paused: enough');
  }, 240_000);

  test('a backfill runs the nights of the past, one after the other', async () => {
    const before = (await record('clock')).length;
    await cli(
      'schedule',
      'backfill',
      'clock',
      '--from',
      '2026-01-01T00:00:00.5Z',
      '--to',
      '2026-01-01T00:00:02.5Z',
    );
    await decided('clock', before + 2);
    await nothingRuns('clock');
    const nights = (await record('clock')).slice(-2);
    expect(nights.map(({ night: number }) => number)).toEqual([before + 1, before + 2]);
    expect(await run(nights[1]!.candidate!.run).readFork()).toMatchObject(nights[0]!.standing!);
  }, 240_000);

  test('a server that was away starts the night that it missed within the catch-up window, and counts one beyond', async () => {
    const due = new Date(Math.ceil(Date.now() / 1000) * 1000 + 15_000);
    // Each hour, at that second. Ten seconds is the shortest window that there is.
    const calendar = JSON.stringify({
      hour: '*',
      minute: String(due.getUTCMinutes()),
      second: String(due.getUTCSeconds()),
    });
    const create = (id: string, window: string) =>
      stack.temporalCli(
        ...[
          'schedule',
          'create',
          '--schedule-id',
          id,
          '--workflow-id',
          id,
          '--type',
          'nightly',
          '--task-queue',
          'genenv',
          '--input-file',
          inputFile(file(id)),
        ],
        ...[
          '--calendar',
          calendar,
          '--overlap-policy',
          'Skip',
          '--catchup-window',
          window,
          '--pause-on-failure',
        ],
      );
    await create('caught-up', '6h');
    await create('missed', '10s');
    // What the server has not looked at yet begins to count when it does.
    for (const id of ['caught-up', 'missed']) {
      const { nextActionTimes, recentActions } = (await stack.client.schedule.getHandle(id).describe()).info;
      expect([nextActionTimes[0], recentActions]).toEqual([due, []]);
    }
    await stack.temporal.stop('SIGKILL');
    expect(Date.now()).toBeLessThan(due.getTime());
    await sleep(due.getTime() + 13_000 - Date.now());
    stack.startTemporal();
    await stack.connect();
    await decided('caught-up', 1);
    const { recentActions } = (await stack.client.schedule.getHandle('caught-up').describe()).info;
    expect(recentActions.map(({ scheduledAt }) => scheduledAt)).toEqual([due]);
    expect((await record('caught-up'))[0]).toMatchObject({ night: 1, outcome: 'promoted' });
    expect((await stack.client.schedule.getHandle('missed').describe()).info).toMatchObject({
      recentActions: [],
      numActionsMissedCatchupWindow: 1,
    });
    expect((await facts('missed')).missed).toBe(1);
  }, 240_000);
});

test('a night that regresses keeps the standing agent and says why; the next one starts from it again, with another seed', async () => {
  const before = (await record('clock')).at(-1)!;
  const bad = await night(file('clock', { experiment: ruinous }), 'bad');
  expect(bad).toMatchObject({ night: before.night + 1, outcome: 'kept', standing: before.standing });
  expect(bad.reason).toMatch(
    /worse than the standing one \(one-sided sign test, p = 0\.0\d+, at or below 0.05\): success [\d.]+ % before, [\d.]+ % now/,
  );
  expect(bad.test!.after).toBeLessThan(bad.test!.before);
  const again = await night(file('clock', { experiment: ruinous }), 'bad-again');
  expect(again).toMatchObject({ night: before.night + 2, outcome: 'kept', standing: before.standing });
  expect(await run(again.candidate!.run).readFork()).toMatchObject(before.standing!);
  expect((await settings(again.candidate!.run)).seed).not.toBe((await settings(bad.candidate!.run)).seed);
  // And a good night continues from what stood all the time.
  expect(await night(file('clock'), 'good')).toMatchObject({ night: before.night + 3, outcome: 'promoted' });
}, 240_000);

test('a first night that regresses leaves the agent of epoch 0 standing', async () => {
  expect(await night(file('ruined', { experiment: ruinous }), 'ruined')).toMatchObject({
    night: 1,
    outcome: 'kept',
    standing: { run: 'ruined-night-0001', epoch: 0 },
  });
}, 120_000);

test('at its deadline a night stops after the epoch under way, and what it has made is judged', async () => {
  const late = await night(file('late', { epochsPerNight: 500, deadlineMinutes: 0.1 }), 'late');
  expect(late.candidate!.epoch).toBeLessThan(500);
  expect(await run('late-night-0001').events()).toContainEqual(
    expect.objectContaining({ type: 'ended', outcome: 'stopped', epoch: late.candidate!.epoch }),
  );
  const isKept = late.candidate!.epoch === 0 || late.test!.p <= 0.05;
  expect(late.outcome).toBe(isKept ? 'kept' : 'promoted');
}, 120_000);

test('killed workers and a terminated night cost nothing: the same experiment is gone on with, and one line says what came of it', async () => {
  await worker.stop();
  const ended = async (): Promise<string> =>
    (await stack.client.workflow.getHandle('disturbed').describe()).status.name;
  const first = await stack.startWorker({ fault: 'SIGKILL:trainAgent:1:before' });
  const terminated = await start(file('disturbed'), 'disturbed');
  await first.exited;
  await terminated.terminate();
  // A new night on another worker, which dies as the night is written down.
  const second = await stack.startWorker({ fault: 'SIGKILL:closeNight:1:after' });
  const handle = await start(file('disturbed'), 'disturbed-again');
  await second.exited;
  expect(await ended()).toBe('TERMINATED');
  worker = await stack.startWorker();
  const result = await handle.result();
  expect(result).toMatchObject({
    night: 1,
    outcome: 'promoted',
    standing: { run: 'disturbed-night-0001', epoch: 1 },
  });
  expect(await record('disturbed')).toHaveLength(1);
  expect(existsSync(run('disturbed-night-0002').path)).toBe(false);
}, 240_000);

test('a night whose experiment fails says why and pauses the schedule; with the right file it continues', async () => {
  expect(await night(file('mixed'), 'mixed-1')).toMatchObject({ night: 1, outcome: 'promoted' });
  const changed = withFields(experiment, { 'world.symbols': 4 });
  await cli(
    'schedule',
    'create',
    inputFile(file('mixed', { experiment: changed })),
    '--cron',
    '0 2 * * *',
    '--id',
    'failing',
  );
  await cli('schedule', 'trigger', 'failing');
  await until(async () => (await facts('failing')).paused, 60_000, 'the pause');
  const last = (await record('mixed')).at(-1);
  expect(last).toMatchObject({
    night: 2,
    outcome: 'failed',
    standing: { run: 'mixed-night-0001', epoch: 1 },
  });
  expect(last?.reason).toContain('world.symbols: was 3, is 4');
  expect(await cli('schedule', 'list')).toMatch(/^failing +paused .* 2 failed *$/m);
  await cli('schedule', 'delete', 'failing');
  expect(await night(file('mixed'), 'mended')).toMatchObject({ night: 2, outcome: 'promoted' });
}, 240_000);

describe('wrong input fails at once, for good, and writes nothing', () => {
  test.each([
    ['nothing', undefined, 'nightly: no input was given'],
    ['a list', [], 'nightly: got []; expected an object'],
    [
      'an unknown field',
      { ...file('wrong'), epochPerNight: 2 },
      'nightly: epochPerNight: unknown field; did you mean "epochsPerNight"?',
    ],
    [
      'a level that is none',
      file('wrong', { significance: 5 }),
      'nightly: significance: got 5; expected a number',
    ],
    ['a name that is no run id', file('a/b'), 'nightly: name: got "a/b"; expected 1 to 64 letters'],
    [
      'a wrong experiment',
      file('wrong', { experiment: { ...experiment, epoch: 3 } }),
      'experiment: epoch: unknown field; did you mean "epochs"?',
    ],
  ])(
    '%s',
    async (what, content, message) => {
      const handle = await stack.client.workflow.start('nightly', {
        args: content === undefined ? [] : [content],
        workflowId: `wrong ${what}`,
        taskQueue: queues.workflows,
      });
      await expect(handle.result()).rejects.toMatchObject({
        cause: {
          cause: {
            type: 'InvalidConfig',
            nonRetryable: true,
            message: expect.stringContaining(message) as string,
          },
        },
      });
      expect(existsSync(join(stack.home, 'nightly', 'wrong'))).toBe(false);
    },
    60_000,
  );
});

describe('each line of docs/schedules.md', () => {
  const [withGenenv = '', withTemporal = ''] = [
    ...readFileSync(new URL('../../docs/schedules.md', import.meta.url), 'utf8').matchAll(
      /```sh\n([^]*?)```/g,
    ),
  ].map(([, lines]) => lines);
  /** A command line as a shell splits it. */
  const words = (line: string): string[] =>
    [...line.matchAll(/"([^"]*)"|(\S+)/g)].map(([, quoted, plain]) => quoted ?? plain ?? '');

  test.each([
    ['genenv', withGenenv],
    ['temporal', withTemporal],
  ])(
    'of %s does what it says',
    async (tool, block) => {
      const lines = block
        .trim()
        .split('\n')
        .map((line) =>
          words(line).map((word) =>
            word === 'experiments/nightly.json' ? inputFile(file(`by-${tool}`)) : word,
          ),
        );
      // No worker: what is started waits, so that it can be counted.
      await worker.stop();
      const describe = async () => stack.client.schedule.getHandle('laptop-nightly').describe();
      const checks: Record<string, (printed: string) => Promise<void>> = {
        create: async () =>
          expect(await describe()).toMatchObject({
            policies: { overlap: 'SKIP', catchupWindow: 6 * 3_600_000, pauseOnFailure: true },
            action: {
              workflowType: 'nightly',
              taskQueue: 'genenv',
              workflowId: tool === 'genenv' ? 'by-genenv' : 'laptop-nightly',
              args: [file(`by-${tool}`)],
            },
            spec: { calendars: [expect.objectContaining({ hour: [expect.objectContaining({ start: 2 })] })] },
          }),
        list: (printed) => {
          expect(printed).toContain('laptop-nightly');
          return Promise.resolve();
        },
        pause: async () =>
          expect((await describe()).state).toMatchObject({ paused: true, note: 'the machine is moved' }),
        resume: async () => expect((await describe()).state.paused).toBe(false),
        trigger: () =>
          until(async () => (await describe()).info.runningActions.length === 1, 30_000, 'the night'),
        backfill: () =>
          until(
            async () => Number((await describe()).raw.info?.bufferSize ?? 0) === 2,
            30_000,
            'two nights that wait',
          ),
        delete: () => expect(describe()).rejects.toThrow('not found'),
      };
      const done: string[] = [];
      for (const [, , verb = '', ...rest] of lines) {
        const toggled = rest.includes('--pause') ? 'pause' : 'resume';
        const name = verb === 'toggle' ? toggled : verb;
        const args = [
          'schedule',
          verb,
          ...rest,
          ...(verb === 'create' && tool === 'genenv' ? ['--id', 'laptop-nightly'] : []),
        ];
        const printed = tool === 'genenv' ? await cli(...args) : await stack.temporalCli(...args);
        await checks[name]!(printed);
        done.push(name);
      }
      expect(done).toEqual(['create', 'list', 'pause', 'resume', 'trigger', 'backfill', 'delete']);
    },
    120_000,
  );
});
