import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { KeyedMutex } from '../../src/async/keyed-mutex.ts';
import type { ActivityContext } from '../../src/runtime/activity-context.ts';

/** Work that several runs of a worker need at the same time. */

function attempt(): ActivityContext & { beats: unknown[]; abort: (reason: Error) => void } {
  const controller = new AbortController();
  const beats: unknown[] = [];
  const listeners: (() => void)[] = [];
  const heartbeat = (details: unknown): void => {
    beats.push(details);
    for (const listener of listeners) listener();
  };
  return {
    beats,
    abort: (reason) => controller.abort(reason),
    signal: controller.signal,
    heartbeat,
    onBeat: (listener) => listeners.push(listener),
    workerStops: () => false,
  };
}

/** Work that runs until `end` is called; `done` records the order. */
function work(name: string, done: string[]) {
  const { promise, resolve, reject } = Promise.withResolvers<undefined>();
  return {
    run: async () => {
      done.push(`${name} begins`);
      await promise;
      done.push(`${name} ends`);
      return name;
    },
    end: () => resolve(undefined),
    fail: reject,
  };
}

/** Resolves when all that could continue has. */
const settled = () => new Promise((resolve) => setImmediate(resolve));

test('the same work is done in turn, other work is not kept waiting', async () => {
  const mutex = new KeyedMutex();
  const done: string[] = [];
  const [first, second, third, otherKey] = ['first', 'second', 'third', 'other'].map((name) =>
    work(name, done),
  ) as [ReturnType<typeof work>, ...ReturnType<typeof work>[]];
  const results = [first, second!, third!].map(({ run }) =>
    mutex.runExclusive('agent', attempt(), 60_000, run),
  );
  const otherResult = mutex.runExclusive('environment', attempt(), 60_000, otherKey!.run);
  await settled();
  expect(done).toEqual(['first begins', 'other begins']);
  for (const held of [first, second!, third!, otherKey!]) held.end();
  expect(await Promise.all([...results, otherResult])).toEqual(['first', 'second', 'third', 'other']);
  expect(done).toEqual([
    'first begins',
    'other begins',
    'first ends',
    'other ends',
    'second begins',
    'second ends',
    'third begins',
    'third ends',
  ]);
});

test('one that waits beats when work is done, and goes on when that work fails', async () => {
  const mutex = new KeyedMutex();
  const done: string[] = [];
  const [first, second] = [work('first', done), work('second', done)];
  const [holder, waiter] = [attempt(), attempt()];
  const failed = expect(mutex.runExclusive('agent', holder, 60_000, first.run)).rejects.toThrow(
    'the trainer died',
  );
  const result = mutex.runExclusive('agent', waiter, 60_000, second.run);
  await settled();
  expect(waiter.beats).toEqual([]);
  holder.heartbeat({ step: 1 });
  expect(holder.beats).toEqual([{ step: 1 }]);
  expect(waiter.beats).toHaveLength(1);
  first.fail(new Error('the trainer died'));
  second.end();
  await failed;
  expect(await result).toBe('second');
  expect(done).toEqual(['first begins', 'second begins', 'second ends']);
});

test('one that is told to stop waits no longer, and leaves the others their turn', async () => {
  const mutex = new KeyedMutex();
  const done: string[] = [];
  const [first, third] = [work('first', done), work('third', done)];
  const [stopped, late] = [attempt(), attempt()];
  const result = mutex.runExclusive('agent', attempt(), 60_000, first.run);
  const refused = expect(
    mutex.runExclusive('agent', stopped, 60_000, work('second', done).run),
  ).rejects.toThrow('the worker stops');
  const last = mutex.runExclusive('agent', attempt(), 60_000, third.run);
  stopped.abort(new Error('the worker stops'));
  late.abort(new Error('before it began'));
  await refused;
  await expect(mutex.runExclusive('agent', late, 60_000, work('late', done).run)).rejects.toThrow(
    'before it began',
  );
  first.end();
  third.end();
  expect(await Promise.all([result, last])).toEqual(['first', 'third']);
  expect(done).toEqual(['first begins', 'first ends', 'third begins', 'third ends']);
});

test('one that makes no progress any more is not waited for', async () => {
  const mutex = new KeyedMutex();
  const done: string[] = [];
  const [stuck, second] = [work('stuck', done), work('second', done)];
  const silent = attempt();
  void mutex.runExclusive('agent', silent, 500, stuck.run);
  await settled();
  const result = mutex.runExclusive('agent', attempt(), 500, second.run);
  // Three times as long as one may be silent.
  for (let beat = 0; beat < 15; beat++) {
    await sleep(100);
    silent.heartbeat({ step: 1 });
  }
  expect(done).toEqual(['stuck begins']);
  second.end();
  expect(await result).toBe('second');
  expect(done).toEqual(['stuck begins', 'second begins', 'second ends']);
});
