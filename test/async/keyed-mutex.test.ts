import { expect, test } from 'vitest';
import { KeyedMutex } from '../../src/async/keyed-mutex.ts';
import type { MutexUser } from '../../src/async/keyed-mutex.ts';

/** Work that several runs of a worker need at once. */

interface TestUser extends MutexUser {
  heartbeats: unknown[];
  abort: (reason: Error) => void;
  goSilent: () => void;
}

function createUser(): TestUser {
  const [cancellation, stall] = [new AbortController(), new AbortController()];
  const heartbeats: unknown[] = [];
  const listeners: (() => void)[] = [];
  return {
    heartbeats,
    abort: (reason) => cancellation.abort(reason),
    goSilent: () => stall.abort(),
    signal: cancellation.signal,
    stalled: stall.signal,
    heartbeat: (details) => {
      heartbeats.push(details);
      for (const listener of listeners) listener();
    },
    onHeartbeat: (listener) => listeners.push(listener),
  };
}

/** Work that runs until the test ends it; `log` says in which order. */
function createWork(name: string, log: string[]) {
  const { promise, resolve, reject } = Promise.withResolvers<undefined>();
  return {
    run: async () => {
      log.push(`${name} begins`);
      await promise;
      log.push(`${name} ends`);
      return name;
    },
    end: () => resolve(undefined),
    fail: reject,
  };
}

/** Waits until all that can continue has continued. */
const settle = () => new Promise((resolve) => setImmediate(resolve));

test('work with one key runs one after another, work with another key does not wait', async () => {
  const mutex = new KeyedMutex();
  const log: string[] = [];
  const names = ['first', 'second', 'third'];
  const works = names.map((name) => createWork(name, log));
  const simulator = createWork('simulator', log);
  const results = works.map(({ run }) => mutex.runExclusive('agent', createUser(), run));
  const simulated = mutex.runExclusive('simulator', createUser(), simulator.run);
  await settle();
  expect(log).toEqual(['first begins', 'simulator begins']);
  for (const work of [...works, simulator]) work.end();
  expect(await Promise.all([...results, simulated])).toEqual([...names, 'simulator']);
  const sequential = log.filter((line) => !line.startsWith('simulator'));
  expect(sequential).toEqual(names.flatMap((name) => [`${name} begins`, `${name} ends`]));
});

test('a user that waits heartbeats when the holder does, and runs when the holder fails', async () => {
  const mutex = new KeyedMutex();
  const log: string[] = [];
  const [first, second] = [createWork('first', log), createWork('second', log)];
  const [holder, waiter] = [createUser(), createUser()];
  const failed = expect(mutex.runExclusive('agent', holder, first.run)).rejects.toThrow('the trainer died');
  const result = mutex.runExclusive('agent', waiter, second.run);
  await settle();
  expect(waiter.heartbeats).toEqual([]);
  holder.heartbeat({ step: 1 });
  expect(holder.heartbeats).toEqual([{ step: 1 }]);
  expect(waiter.heartbeats).toHaveLength(1);
  first.fail(new Error('the trainer died'));
  second.end();
  await failed;
  expect(await result).toBe('second');
  expect(log).toEqual(['first begins', 'second begins', 'second ends']);
});

test('a user whose signal is aborted stops waiting, and the others keep their place', async () => {
  const mutex = new KeyedMutex();
  const log: string[] = [];
  const [first, third] = [createWork('first', log), createWork('third', log)];
  const [stopped, late] = [createUser(), createUser()];
  const result = mutex.runExclusive('agent', createUser(), first.run);
  const refused = expect(mutex.runExclusive('agent', stopped, createWork('second', log).run)).rejects.toThrow(
    'the worker stops',
  );
  const last = mutex.runExclusive('agent', createUser(), third.run);
  stopped.abort(new Error('the worker stops'));
  late.abort(new Error('before it began'));
  await refused;
  await expect(mutex.runExclusive('agent', late, createWork('late', log).run)).rejects.toThrow(
    'before it began',
  );
  first.end();
  third.end();
  expect(await Promise.all([result, last])).toEqual(['first', 'third']);
  expect(log).toEqual(['first begins', 'first ends', 'third begins', 'third ends']);
});

test('a holder that stalls gives the mutex up, and its late end disturbs nobody', async () => {
  const mutex = new KeyedMutex();
  const log: string[] = [];
  const [stalled, second, third] = ['stalled', 'second', 'third'].map((name) => createWork(name, log));
  const [holder, waiter] = [createUser(), createUser()];
  const late = mutex.runExclusive('agent', holder, stalled!.run);
  const result = mutex.runExclusive('agent', waiter, second!.run);
  const last = mutex.runExclusive('agent', createUser(), third!.run);
  await settle();
  expect(log).toEqual(['stalled begins']);
  holder.goSilent();
  await settle();
  expect(log).toEqual(['stalled begins', 'second begins']);
  // The stalled attempt may still end; the second one holds the mutex all the same.
  stalled!.end();
  expect(await late).toBe('stalled');
  await settle();
  expect(log).toEqual(['stalled begins', 'second begins', 'stalled ends']);
  second!.end();
  third!.end();
  expect(await Promise.all([result, last])).toEqual(['second', 'third']);
});

test('a user that stalls while it waits never runs its work', async () => {
  const mutex = new KeyedMutex();
  const log: string[] = [];
  const [first, second] = [createWork('first', log), createWork('second', log)];
  const waiter = createUser();
  const result = mutex.runExclusive('agent', createUser(), first.run);
  const refused = expect(mutex.runExclusive('agent', waiter, second.run)).rejects.toThrow('aborted');
  waiter.goSilent();
  await refused;
  first.end();
  expect(await result).toBe('first');
  await settle();
  expect(log).toEqual(['first begins', 'first ends']);
});
