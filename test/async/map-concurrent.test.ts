import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { mapConcurrent } from '../../src/async/map-concurrent.ts';

const idle = new AbortController().signal;

describe('mapConcurrent', () => {
  it('gives results in the order of the items, with at most `limit` at a time', async () => {
    let running = 0;
    let maxRunning = 0;
    const results = await mapConcurrent([30, 5, 20, 1], 2, idle, async (delay) => {
      maxRunning = Math.max(maxRunning, ++running);
      await sleep(delay);
      running -= 1;
      return delay * 2;
    });
    expect(results).toEqual([60, 10, 40, 2]);
    expect(maxRunning).toBe(2);
    expect(
      await mapConcurrent([], 2, AbortSignal.abort(new Error('gone')), () => Promise.resolve(1)),
    ).toEqual([]);
  });

  it('fails with the first failure, stops the others and starts no more', async () => {
    const started: number[] = [];
    const stopped: unknown[] = [];
    const failure = new Error('item 1');
    const work = async (item: number, signal: AbortSignal): Promise<void> => {
      started.push(item);
      if (item === 1) throw failure;
      await sleep(1000, undefined, { signal }).catch((error: unknown) => {
        stopped.push(signal.reason);
        throw error;
      });
    };
    await expect(mapConcurrent([0, 1, 2, 3], 2, idle, work)).rejects.toBe(failure);
    await sleep(10);
    expect(started).toEqual([0, 1]);
    expect(stopped).toEqual([expect.objectContaining({ name: 'AbortError' })]);
  });

  it('stops with the reason of the caller’s signal', async () => {
    const caller = new AbortController();
    const reason = new Error('worker is stopping');
    const started: number[] = [];
    const work = async (item: number): Promise<void> => {
      started.push(item);
      await sleep(1);
      caller.abort(reason);
    };
    await expect(mapConcurrent([0, 1, 2], 1, caller.signal, work)).rejects.toBe(reason);
    expect(started).toEqual([0]);
  });
});
