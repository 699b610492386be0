import { describe, expect, test } from 'vitest';
import type { Adapter } from '../../src/tracking/adapter.ts';
import { Feed } from '../../src/tracking/feed.ts';
import type { TrackedEpoch, TrackedRun } from '../../src/tracking/feed.ts';
import { followRun } from '../../src/tracking/follow-run.ts';
import type { FollowOptions } from '../../src/tracking/follow-run.ts';
import { nameHome } from '../../src/tracking/identity.ts';
import { InvalidConfig } from '../../src/validation/invalid-config.ts';
import { until } from '../../test-support/processes.ts';
import { memoryFolder } from '../store/temporary-folder.ts';
import { GrowingRun } from './growing-run.ts';

/** A tracker in memory, whose processes fail as the test says. */
class FakeTracker {
  readonly runs = new Map<string, TrackedEpoch[]>();
  readonly opened: string[] = [];
  readonly closed: unknown[] = [];
  /** Called before and after each step is stored; what it throws is the process's death. */
  fail: (place: string) => void = () => undefined;

  readonly createAdapter = (): Adapter => {
    let key = '';
    return {
      open: (run: TrackedRun) => {
        this.fail('open');
        key = run.key;
        this.opened.push(key);
        const steps = this.runs.get(key) ?? [];
        this.runs.set(key, steps);
        return Promise.resolve(steps.at(-1)?.step ?? null);
      },
      send: (epoch: TrackedEpoch) => {
        this.fail(`before ${epoch.step}`);
        this.runs.get(key)!.push(epoch);
        this.fail(`after ${epoch.step}`);
        return Promise.resolve();
      },
      close: (outcome) => {
        this.closed.push(outcome);
        return Promise.resolve();
      },
      [Symbol.asyncDispose]: () => Promise.resolve(),
    };
  };

  steps = (key: string): number[] => (this.runs.get(key) ?? []).map(({ step }) => step);
}

/** Fails at a place, the first times that it is reached. */
const failing = (place: string, times = 1) => {
  let left = times;
  return (reached: string): void => {
    if (reached === place && left-- > 0) throw new Error(`killed ${place}`);
  };
};

const setUp = async () => {
  const run = await GrowingRun.start(await memoryFolder());
  const tracker = new FakeTracker();
  const feed = new Feed({ home: run.home, runId: run.id, name: await nameHome(run.home) });
  const said: string[] = [];
  const stop = new AbortController();
  const follow = (options: Partial<FollowOptions> = {}) =>
    followRun({
      read: (waits) => feed.read(waits),
      createAdapter: tracker.createAdapter,
      once: true,
      stop: stop.signal,
      pollMs: 5,
      retryMs: 5,
      say: (text) => said.push(text),
      ...options,
    });
  return { run, tracker, feed, follow, said, stop, key: await run.key() };
};

describe('each committed epoch is sent once, in order', () => {
  test('until the run has ended', async () => {
    const { run, tracker, follow, key } = await setUp();
    await run.commitTo(1);
    const following = follow({ once: false });
    await until(() => tracker.steps(key).length === 2, 5_000, 'two epochs');
    await run.commit(2);
    await until(() => tracker.steps(key).length === 3, 5_000, 'the third');
    await run.commit(3);
    await run.end('token cap reached');
    expect(await following).toEqual({ last: 3, caughtUp: true });
    expect(tracker.steps(key)).toEqual([0, 1, 2, 3]);
    expect(tracker.closed).toEqual(['stopped']);
    expect(tracker.opened).toHaveLength(1);
  });

  test.each(['before 2', 'after 2', 'open'])('whatever fails %s', async (place) => {
    const { run, tracker, follow, said, key } = await setUp();
    await run.commitTo(4);
    tracker.fail = failing(place, 2);
    expect(await follow()).toEqual({ last: 4, caughtUp: true });
    expect(tracker.steps(key)).toEqual([0, 1, 2, 3, 4]);
    expect(said[0]).toBe(`killed ${place}. It is tried again; the run is not affected.`);
    // The same failure is said once.
    expect(said).toHaveLength(2);
  });

  test('an epoch without its times waits for them, unless the run has ended or the follower ends', async () => {
    const { run, tracker, feed, follow, key } = await setUp();
    await run.commit(0);
    await run.appendLine(1);
    expect((await feed.read(true))?.epochs).toEqual([0]);
    await follow();
    expect(tracker.steps(key)).toEqual([0, 1]);
    await run.end('cancelled');
    expect((await feed.read(true))?.epochs).toEqual([0, 1]);
  });
});

describe('a tracker that is away', () => {
  test('is tried again until it answers, if the run is followed', async () => {
    const { run, tracker, follow, said, key } = await setUp();
    await run.commitTo(2);
    await run.end('finished');
    tracker.fail = failing('open', 8);
    expect(await follow({ once: false })).toEqual({ last: 2, caughtUp: true });
    expect(tracker.steps(key)).toEqual([0, 1, 2]);
    expect(said.at(-1)).toBe('It answers again, and has all epochs so far.');
  });

  test('fails `--once` after three times, and a stop at once', async () => {
    const { run, tracker, follow, stop } = await setUp();
    await run.commit(0);
    tracker.fail = failing('open', 100);
    await expect(follow()).rejects.toThrow('killed open');
    const following = follow({ once: false, retryMs: 60_000 });
    stop.abort();
    expect(await following).toEqual({ last: null, caughtUp: false });
  });

  test('is not tried again for what a person has to change', async () => {
    const { run, tracker, follow, said } = await setUp();
    await run.commit(0);
    tracker.fail = () => {
      throw new InvalidConfig('uri: got …');
    };
    await expect(follow({ once: false })).rejects.toThrow('uri: got …');
    expect(said).toEqual([]);
  });
});

test('a run that is rewound while it is followed becomes another run with the whole history', async () => {
  const { run, tracker, follow, key } = await setUp();
  await run.commitTo(3);
  const following = follow({ once: false });
  await until(() => tracker.steps(key).length === 4, 5_000, 'all epochs');
  await run.rewindTo(1);
  await run.folder.appendEvent({ type: 'resumed' });
  await run.commit(2);
  await run.end('finished');
  await following;
  expect(tracker.steps(key)).toEqual([0, 1, 2, 3]);
  expect(tracker.steps(await run.key(1))).toEqual([0, 1, 2]);
  expect(tracker.closed).toEqual([null, 'finished']);
});
