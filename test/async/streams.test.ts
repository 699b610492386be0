import { describe, expect, it } from 'vitest';
import { collect, groupConsecutive, mergeSorted, zip, zipRecords } from '../../src/async/streams.ts';

/** A stream of the items, which notes its name in `closed` when its reader is done with it. */
async function* stream<T>(items: readonly T[], name = '', closed: string[] = []): AsyncGenerator<T> {
  try {
    yield* items;
    await Promise.resolve();
  } finally {
    closed.push(name);
  }
}

describe('zip', () => {
  it('gives rows of two or more streams', async () => {
    expect(await collect(zip(stream([1, 2]), stream(['a', 'b'])))).toEqual([
      [1, 'a'],
      [2, 'b'],
    ]);
    expect(await collect(zip(stream([1]), stream(['a']), stream([true])))).toEqual([[1, 'a', true]]);
    expect(await collect(zip(stream([]), stream([]), stream([])))).toEqual([]);
  });

  it.each([
    [[1, 2], [1], [1, 2]],
    [[1], [1, 2], [1, 2]],
    [[1], [1], [1, 2]],
    [[], [], [1]],
  ])('refuses streams of different lengths: %j, %j, %j', async (first, second, third) => {
    const closed: string[] = [];
    const rows = zip(
      stream(first, 'first', closed),
      stream(second, 'second', closed),
      stream(third, 'third', closed),
    );
    await expect(collect(rows)).rejects.toThrow('streams that belong together differ in length');
    expect(closed.toSorted()).toEqual(['first', 'second', 'third']);
  });

  it('closes every stream if its reader stops early', async () => {
    const closed: string[] = [];
    for await (const [left] of zip(stream([1, 2], 'left', closed), stream([1, 2], 'right', closed)))
      if (left === 1) break;
    expect(closed).toEqual(['left', 'right']);
  });
});

describe('zipRecords', () => {
  const tasks = [{ id: 'task-00' }, { id: 'task-01' }];
  const scores = [
    { task_id: 'task-00', successes: 1 },
    { task_id: 'task-01', successes: 4 },
  ];

  it('gives each record with those of the same id', async () => {
    expect(await collect(zipRecords(stream(tasks), stream(scores), stream(scores)))).toEqual([
      [tasks[0], scores[0], scores[0]],
      [tasks[1], scores[1], scores[1]],
    ]);
  });

  it("reads a record's own id, not that of its task", async () => {
    const [traces, rewards] = [0, 1].map((reward) =>
      ['rollout-00', 'rollout-01'].map((id) => ({ id: `task-00/${id}`, task_id: 'task-00', reward })),
    ) as [
      { id: string; task_id: string; reward: number }[],
      { id: string; task_id: string; reward: number }[],
    ];
    expect(await collect(zipRecords(stream(traces), stream(rewards)))).toHaveLength(2);
    await expect(collect(zipRecords(stream(traces), stream(rewards.toReversed())))).rejects.toThrow(
      'record task-00/rollout-01 stands where record task-00/rollout-00 should',
    );
  });

  it('refuses swapped records in any of the files, and names both ids', async () => {
    const swapped = scores.toReversed();
    const mismatch = 'record task-01 stands where record task-00 should';
    await expect(collect(zipRecords(stream(tasks), stream(swapped)))).rejects.toThrow(mismatch);
    await expect(collect(zipRecords(stream(tasks), stream(scores), stream(swapped)))).rejects.toThrow(
      mismatch,
    );
    const lastSwapped = [scores[0]!, { task_id: 'task-02', successes: 0 }];
    await expect(collect(zipRecords(stream(tasks), stream(lastSwapped)))).rejects.toThrow(
      'record task-02 stands where record task-01 should',
    );
  });

  it('refuses a file that misses records', async () => {
    await expect(collect(zipRecords(stream(tasks), stream(scores.slice(0, 1))))).rejects.toThrow(
      'differ in length',
    );
  });
});

describe('groupConsecutive', () => {
  it('keeps items together as long as they belong to the first of their group', async () => {
    const groups = groupConsecutive(
      stream(['a1', 'a2', 'b1', 'a3']),
      (first, next) => first.slice(0, 1) === next.slice(0, 1),
    );
    expect(await collect(groups)).toEqual([['a1', 'a2'], ['b1'], ['a3']]);
  });
});

describe('mergeSorted', () => {
  it('gives one sorted stream, the items of earlier streams first where they are equal', async () => {
    const streams = [['b-left'], ['a-right', 'b-right'], []].map((items) => stream<string>(items));
    const merged = mergeSorted(streams, (a, b) => a.slice(0, 1) < b.slice(0, 1));
    expect(await collect(merged)).toEqual(['a-right', 'b-left', 'b-right']);
  });
});
