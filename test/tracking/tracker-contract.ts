import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { TrackerProcess } from '../../src/tracking/adapter.ts';
import { Feed } from '../../src/tracking/feed.ts';
import { followRun } from '../../src/tracking/follow-run.ts';
import type { Followed, FollowOptions } from '../../src/tracking/follow-run.ts';
import { nameHome } from '../../src/tracking/identity.ts';
import { trackerEnvironment, trackerPython } from '../../src/tracking/trackers.ts';
import type { TrackerName } from '../../src/tracking/trackers.ts';
import { temporaryFolder } from '../store/temporary-folder.ts';
import { GrowingRun, hostileText, metricsAt } from './growing-run.ts';
import { readBack, stepsOf } from './read-back.ts';
import type { ReadBack } from './read-back.ts';

/** One tracker as the tests reach it. */
export interface TrackerHarness {
  tracker: TrackerName;
  uri?: () => string;
  env: (home: string) => NodeJS.ProcessEnv;
  /** Arguments of its reader (`test-support/read_trackers.py`) for a run. */
  place: (home: string, key: string, run: GrowingRun) => string[];
}

export interface Sent extends Followed {
  said: string[];
  /** How many processes were started. */
  processes: number;
}

/** Sends what is committed, as `genenv track` does, with a fault in the adapter's process. */
export async function send(
  { tracker, uri, env }: TrackerHarness,
  run: GrowingRun,
  { fault, ...options }: { fault?: string } & Partial<FollowOptions> = {},
): Promise<Sent> {
  const file = join(run.home, 'fault');
  if (fault !== undefined) writeFileSync(file, fault);
  const feed = new Feed({ home: run.home, runId: run.id, name: await nameHome(run.home) });
  const folder =
    tracker === 'tensorboard' ? run.folder.tensorboardFolder : join(run.home, 'trackers', tracker);
  const destination = { tracker, project: 'co-evolution', uri: uri?.() ?? null, folder };
  const environment = trackerEnvironment(tracker, { ...env(run.home), GENENV_TRACKER_FAULT: file });
  const said: string[] = [];
  let processes = 0;
  const followed = await followRun({
    read: (waits) => feed.read(waits),
    createAdapter: () => {
      processes += 1;
      return new TrackerProcess(destination, trackerPython(tracker), environment);
    },
    once: true,
    stop: new AbortController().signal,
    pollMs: 20,
    retryMs: 20,
    say: (text) => said.push(text),
    ...options,
  });
  if (fault !== undefined) expect(existsSync(`${file}.struck`), `the fault ${fault} struck`).toBe(true);
  return { ...followed, said, processes };
}

/** The steps 0 to `last` of all metrics, each once; those after `offsetFrom` are of another course. */
export function expectSteps(read: ReadBack, last: number, { first = 0, offsetFrom = Infinity } = {}): void {
  const steps = Array.from({ length: last - first + 1 }, (_, index) => first + index);
  for (const metric of Object.keys(metricsAt(0))) {
    const points = stepsOf(read, metric);
    expect(
      points.map(({ step }) => step),
      metric,
    ).toEqual(steps);
    for (const { step, value } of points)
      expect(value, `${metric} of step ${step}`).toBeCloseTo(
        metricsAt(step, step >= offsetFrom ? 100 : 0)[metric]!,
        4,
      );
  }
  expect(stepsOf(read, 'time/epoch').map(({ step }) => step)).toEqual(steps);
}

/** What holds for every tracker. */
export function trackerContract(harness: TrackerHarness): void {
  const { tracker, place, env } = harness;
  const start = async (): Promise<GrowingRun> => GrowingRun.start(await temporaryFolder());
  const read = async (run: GrowingRun, rewinds = 0): Promise<ReadBack> =>
    readBack(tracker, place(run.home, await run.key(rewinds), run), env(run.home));

  describe('a process that is killed', () => {
    test.each(['log 2', 'log 2 after 1.5', 'log 0'])(
      'after it logged a step, before it said so (%s)',
      async (fault) => {
        const run = await start();
        await run.commitTo(4);
        const { last, processes, said } = await send(harness, run, { fault });
        expect({ last, processes }).toEqual({ last: 4, processes: 2 });
        expect(said[0]).toMatch(/ended \(SIGKILL\).*the run is not affected/s);
        expectSteps(await read(run), 4);
      },
    );

    test('while it opens the run, for the first time and again', async () => {
      const run = await start();
      await run.commitTo(1);
      expect((await send(harness, run, { fault: 'open' })).processes).toBe(2);
      await run.commitTo(3, 2);
      expect((await send(harness, run, { fault: 'open' })).processes).toBe(2);
      expectSteps(await read(run), 3);
    });
  });

  test('a run that is continued by another process stays one run, with all that is sent of it', async () => {
    const run = await start();
    await run.commitTo(2);
    expect((await send(harness, run)).last).toBe(2);
    await run.commitTo(5, 3);
    await run.end('finished');
    expect((await send(harness, run, { once: false })).last).toBe(5);
    expect((await send(harness, run)).last).toBe(5);
    const stored = await read(run);
    expectSteps(stored, 5);
    expect(JSON.stringify(stored.config)).toContain('rolloutsPerTask');
    expect(Object.keys(stored.tables).map(Number)).toEqual([1, 2, 3, 4, 5]);
    // Texts of models are there as they were written, once.
    expect(JSON.stringify(stored.tables['3'])).toContain(JSON.stringify(hostileText).slice(1, -1));
    const lines = await run.lines();
    const last = lines.at(-1) as unknown as {
      outputs: { state: Record<string, { checkpoint: { sha256: string } }> };
    };
    expect(stored.references).toEqual({
      agent: last.outputs.state.agent!.checkpoint.sha256,
      simulator: last.outputs.state.environment!.checkpoint.sha256,
      ledger: (await (await run.folder.open())!.ledger.head())!.sha256,
    });
    if (tracker === 'mlflow') expect(stored.status).toBe('FINISHED');
  });

  test('a rewind is another run with the whole history, and a run that is resumed after it is that one', async () => {
    const run = await start();
    await run.commitTo(4);
    await send(harness, run);
    await run.rewindTo(2);
    await run.commitTo(3, 3);
    await send(harness, run);
    await run.commitTo(5, 4);
    await send(harness, run);
    const stored = await read(run, 1);
    expectSteps(stored, 5, { offsetFrom: 3 });
    expect(JSON.stringify(stored.tags)).toContain(await run.key());
    // What was dropped is still there under the first name, but for files that are made anew.
    if (tracker === 'tensorboard') return;
    const before = await read(run);
    expectSteps(before, 4);
    if (tracker === 'mlflow') expect(before.tags['genenv.superseded_by']).toBe(await run.key(1));
  });

  test('a fork is a run of its own that names its parent, epoch and ledger line', async () => {
    const run = await start();
    await run.commitTo(3);
    await send(harness, run);
    const line = (await run.lines())[2]!;
    const fork = await GrowingRun.start(run.home, 'fork', { run: run.id, epoch: 2, line });
    await fork.commitTo(4, 3);
    await send(harness, fork);
    const stored = await read(fork);
    expectSteps(stored, 4, { first: 3 });
    const { sha256 } =
      (await fork.lines()).length > 0 ? { sha256: (await fork.lines())[0]!.previous } : { sha256: '' };
    const tags = JSON.stringify(stored.tags);
    for (const text of [run.id, sha256]) expect(tags).toContain(text);
    if (tracker === 'mlflow') expect(stored.tags.parent).toBe(await run.key());
    if (tracker === 'trackio' || tracker === 'wandb') expect(stored.tags.group).toBe(await run.key());
    expectSteps(await read(run), 3);
  });
}
