import { existsSync, mkdirSync, readFileSync, renameSync, rmdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { pythonPath } from '../../infra/setup/locations.mjs';
import { RunTrackers } from '../../src/cli/lib/run-trackers.ts';
import { shareHome } from '../../src/runs/connect-store.ts';
import type { TrackerName } from '../../src/tracking/trackers.ts';
import { FakeS3 } from '../../test-support/fake-s3.ts';
import { until } from '../../test-support/processes.ts';
import { temporaryFolder } from '../store/temporary-folder.ts';
import { GrowingRun, metricsAt } from '../tracking/growing-run.ts';
import { readBack, stepsOf } from '../tracking/read-back.ts';
import { genenv, startGenenv } from './genenv-process.ts';

const missing = existsSync(pythonPath()) ? '' : ' (skipped: the trainer’s Python environment is not set up)';

const rewards = async (run: GrowingRun): Promise<{ step: number; value: number }[]> =>
  stepsOf(await readBack('tensorboard', [run.folder.tensorboardFolder]), 'reward');
const upTo = (last: number): { step: number; value: number }[] =>
  Array.from({ length: last + 1 }, (_, step) => ({ step, value: metricsAt(step).reward! }));

describe('genenv track', () => {
  test.each([
    [['track', 'run', '--to', 'comet'], '--to: got "comet"; allowed: wandb, mlflow, trackio, tensorboard'],
    [['track', 'nobody', '--to', 'mlflow'], 'has no such run; there are: run'],
    [['run', 'experiments/laptop.json', '--track', 'x'], '--track: got "x"; allowed: wandb'],
  ])('refuses %j', async (args, message) => {
    const run = await GrowingRun.start(await temporaryFolder());
    const { code, err } = await genenv(args, { GENENV_HOME: run.home });
    expect({ code, err }).toEqual({ code: 2, err: expect.stringContaining(message) as string });
  });

  test.skipIf(missing !== '')(`follows a run, ends when asked, and continues${missing}`, async () => {
    const run = await GrowingRun.start(await temporaryFolder());
    await run.commit(0);
    const first = startGenenv(['track', 'run', '--to', 'tensorboard'], { GENENV_HOME: run.home });
    await until(() => existsSync(run.folder.tensorboardFolder), 60_000, 'the files');
    await until(async () => (await rewards(run).catch(() => [])).length === 1, 60_000, 'the first epoch');
    await run.commit(1);
    // What is committed is sent before it ends.
    first.child.kill('SIGTERM');
    expect(await first.ended).toMatchObject({ code: 0, out: 'run: tensorboard has all epochs to 1.\n' });
    await run.commit(2);
    const second = await genenv(['track', 'run', '--to', 'tensorboard', '--once'], { GENENV_HOME: run.home });
    expect(second).toMatchObject({ code: 0, out: 'run: tensorboard has all epochs to 2.\n' });
    expect(await rewards(run)).toEqual(upTo(2));
  });
});

describe('trackers beside a run', () => {
  const start = (run: GrowingRun, trackers: TrackerName[], env: NodeJS.ProcessEnv = process.env) => {
    const warned: string[] = [];
    const context = {
      env: { ...env, GENENV_HOME: run.home },
      print: () => undefined,
      warn: (line: string) => void warned.push(line),
      terminal: null,
    };
    return { warned, tracked: new RunTrackers({ trackers, home: run.home, runId: run.id }, context) };
  };

  test.skipIf(missing !== '')('are started again when they are killed, and catch up at the end', async () => {
    const run = await GrowingRun.start(await temporaryFolder());
    await run.commit(0);
    const { tracked, warned } = start(run, ['tensorboard']);
    await until(async () => (await rewards(run).catch(() => [])).length === 1, 60_000, 'the first epoch');
    const [killed] = tracked.processes();
    process.kill(killed!, 'SIGKILL');
    await until(() => ![undefined, killed].includes(tracked.processes()[0]), 60_000, 'another process');
    await run.commitTo(2, 1);
    await tracked.end();
    expect(warned).toEqual([]);
    expect(await rewards(run)).toEqual(upTo(2));
    expect(tracked.processes()).toEqual([]);
  });

  /** Trackers that have followed a run to its stop; `resume` checks that they follow the rest. */
  async function followStopped() {
    const run = await GrowingRun.start(await temporaryFolder());
    await run.commit(0);
    await run.end('stopped');
    const { tracked, warned } = start(run, ['tensorboard']);
    const log = join(run.home, 'trackers', 'logs', 'run-tensorboard.log');
    await until(() => existsSync(log) && readFileSync(log, 'utf8').includes('has all'), 60_000, 'its end');
    const resume = async () => {
      await run.folder.appendEvent({ type: 'resumed' });
      await run.commitTo(2, 1);
      await run.end('finished');
      await tracked.end();
      expect(warned).toEqual([]);
      expect(await rewards(run)).toEqual(upTo(2));
    };
    return { run, resume };
  }

  test.skipIf(missing !== '')('follow a run that is resumed', async () => {
    const { resume } = await followStopped();
    await resume();
  });

  test.skipIf(missing !== '')('look again at a run whose events could not be read', async () => {
    const { run, resume } = await followStopped();
    renameSync(run.folder.eventsFile, `${run.folder.eventsFile}.kept`);
    mkdirSync(run.folder.eventsFile);
    await sleep(5_000);
    rmdirSync(run.folder.eventsFile);
    renameSync(`${run.folder.eventsFile}.kept`, run.folder.eventsFile);
    await resume();
  });

  test('look at a bucket, which takes requests, less often, and again when it has failed', async () => {
    await using s3 = await FakeS3.start();
    const home = await temporaryFolder();
    shareHome(s3.bucket('', 1), { store: join(home, 'store'), runs: join(home, 'runs') });
    s3.fault = () => 'busy';
    const context = { env: process.env, print: () => undefined, warn: () => undefined, terminal: null };
    const tracked = new RunTrackers({ trackers: ['tensorboard'], home, runId: 'far' }, context);
    await sleep(2_000);
    expect(s3.counts).toEqual({ GET: 1 });
    s3.fault = () => undefined;
    await tracked.end(20_000);
    expect(s3.counts).toEqual({ GET: 2 });
  });

  test('say in a line what was not sent, and the command that sends it', async () => {
    const run = await GrowingRun.start(await temporaryFolder());
    await run.commit(0);
    const env = { ...process.env, XDG_CACHE_HOME: join(run.home, 'nothing-installed') };
    const { tracked, warned } = start(run, ['mlflow'], env);
    const log = join(run.home, 'trackers', 'logs', 'run-mlflow.log');
    await until(() => existsSync(log) && readFileSync(log, 'utf8') !== '', 60_000, 'its log');
    const before = readFileSync(run.folder.ledgerFile);
    await tracked.end(10_000);
    expect(warned).toEqual([
      `mlflow has not all epochs of run. \`npx genenv track run --to mlflow\` sends the rest; ${log} says why.`,
    ]);
    expect(readFileSync(log, 'utf8')).toContain('run `npm run engines -- trackers`');
    expect(readFileSync(run.folder.ledgerFile)).toEqual(before);
  });
});
