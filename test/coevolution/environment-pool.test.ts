import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { extendPool, regressionRecords } from '../../src/coevolution/environment-pool.ts';

const record = (epoch: number, signature: string, id = 0) => ({ epoch, signature, id });
const pool = [
  record(0, 'a'),
  record(1, 'b'),
  record(1, 'c'),
  record(2, 'a', 1),
  record(2, 'a', 2),
  record(2, 'd'),
];

describe('regressionRecords', () => {
  it('keeps the window, this epoch included', () => {
    const epochs = (window: number | null) =>
      regressionRecords(pool, { epoch: 2, window, deduplicate: false }).map(({ record }) => record.epoch);
    expect(epochs(1)).toEqual([2, 2, 2]);
    expect(epochs(2)).toEqual([1, 1, 2, 2, 2]);
    expect(epochs(null)).toEqual([0, 1, 1, 2, 2, 2]);
    expect(regressionRecords(pool, { epoch: 9, window: 2, deduplicate: false })).toEqual([]);
  });

  it('keeps the newest of equal tasks and divides its weight by 1 + repeats', () => {
    // 'a' was written three times, once outside the window: two repeats, a third of the weight.
    expect(regressionRecords(pool, { epoch: 2, window: 2, deduplicate: true })).toEqual([
      { record: record(1, 'b'), age: 1, repeats: 0, discount: 1 },
      { record: record(1, 'c'), age: 1, repeats: 0, discount: 1 },
      { record: record(2, 'a', 1), age: 0, repeats: 2, discount: 1 / 3 },
      { record: record(2, 'd'), age: 0, repeats: 0, discount: 1 },
    ]);
  });

  it('leaves all as it is without deduplication, as the paper does', () => {
    const records = regressionRecords(pool, { epoch: 2, window: null, deduplicate: false });
    expect(records.map(({ record }) => record)).toEqual(pool);
    expect(records.map(({ discount }) => discount)).toEqual([1, 1, 1, 1, 1, 1]);
    expect(records.map(({ repeats }) => repeats)).toEqual([2, 0, 0, 2, 2, 0]);
  });

  it('has each signature of the window once, in the order of the pool', () => {
    const epochs = fc.array(fc.array(fc.constantFrom('a', 'b', 'c', '__proto__')), { maxLength: 6 });
    fc.assert(
      fc.property(epochs, fc.integer({ min: 1, max: 4 }), (written, window) => {
        const all = written.flatMap((signatures, epoch) =>
          signatures.map((signature, id) => record(epoch, signature, id)),
        );
        const epoch = Math.max(0, written.length - 1);
        const kept = regressionRecords(all, { epoch, window, deduplicate: true });
        const inWindow = new Set(
          all.filter((entry) => epoch - entry.epoch < window).map(({ signature }) => signature),
        );
        expect(kept.map(({ record }) => record.signature).toSorted()).toEqual([...inWindow].toSorted());
        for (const { record: entry, repeats, discount } of kept) {
          expect(repeats + 1).toBe(all.filter(({ signature }) => signature === entry.signature).length);
          expect(discount * (repeats + 1)).toBeCloseTo(1, 12);
        }
        const places = kept.map(({ record }) => all.indexOf(record));
        expect(places).toEqual(places.toSorted((left, right) => left - right));
      }),
    );
  });

  it('names what is out of its domain', () => {
    expect(() => regressionRecords(pool, { epoch: 1, window: 1, deduplicate: true })).toThrow(
      'pool[3].epoch must be an integer in [0, 1], got 2',
    );
    expect(() => regressionRecords(pool, { epoch: 2, window: 0, deduplicate: true })).toThrow(
      'window must be an integer of at least 1, got 0',
    );
  });
});

describe('extendPool', () => {
  it('appends an epoch, once', () => {
    const first = extendPool([], [record(0, 'a'), record(0, 'b')]);
    const two = extendPool(first, [record(1, 'c')]);
    expect(two.map(({ signature }) => signature)).toEqual(['a', 'b', 'c']);
    expect(extendPool(two, [])).toEqual(two);
    expect(() => extendPool(two, [record(1, 'c')])).toThrow(
      'records[0].epoch must be an integer of at least 2, got 1',
    );
  });
});
