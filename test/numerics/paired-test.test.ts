import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { pairedTest } from '../../src/numerics/tests.ts';

describe('pairedTest', () => {
  it('is the sign test: P(X >= worse) for X ~ Binomial(better + worse, 1/2)', () => {
    // 4 of 5 worse: (C(5,4) + C(5,5)) / 32. 5 of 5: 1 / 32. 1 of 2: 3 / 4.
    const { p, ...counts } = pairedTest([1, 1, 1, 1, 0], [0, 0, 0, 0, 1]);
    expect(counts).toEqual({ better: 1, worse: 4, tied: 0 });
    expect(p).toBeCloseTo(6 / 32, 12);
    expect(pairedTest([1, 1, 1, 1, 0.25], [0, 0, 0, 0, 0.125]).p).toBeCloseTo(1 / 32, 12);
    expect(pairedTest([1, 0], [0, 1]).p).toBeCloseTo(3 / 4, 12);
  });

  it('leaves equal tasks out, last bits aside', () => {
    expect(pairedTest([0.6, 0.1 + 0.2, 1], [0.6, 0.3, 0])).toEqual({ better: 0, worse: 1, tied: 2, p: 0.5 });
    expect(pairedTest([0.5, 0.5], [0.5, 0.5])).toEqual({ better: 0, worse: 0, tied: 2, p: 1 });
    expect(pairedTest([], [])).toEqual({ better: 0, worse: 0, tied: 0, p: 1 });
  });

  it('has a p in (0, 1] that falls as more tasks get worse, and is blind to their order', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 200 }), fc.integer({ min: 0, max: 200 }), (better, worse) => {
        const before = [...Array<number>(better).fill(0), ...Array<number>(worse).fill(1)];
        const after = before.map((reward) => 1 - reward);
        const { p } = pairedTest(before, after);
        expect(p).toBeGreaterThan(0);
        expect(p).toBeLessThanOrEqual(1);
        expect(pairedTest(before.toReversed(), after.toReversed()).p).toBe(p);
        expect(pairedTest([...before, 1], [...after, 0]).p).toBeLessThanOrEqual(p + 1e-12);
      }),
    );
  });

  it('under the null falls at or below its level no more often than that', () => {
    // All 2^10 equally likely outcomes of ten tasks that differ.
    const shown = Array.from({ length: 1024 }, (_, bits) =>
      Array.from({ length: 10 }, (__, task) => (bits >> task) & 1),
    ).filter(
      (after) =>
        pairedTest(
          after.map((reward) => 1 - reward),
          after,
        ).p <= 0.05,
    );
    expect(shown.length).toBe(11);
    expect(shown.length / 1024).toBeLessThanOrEqual(0.05);
  });

  it('names what is out of its domain', () => {
    expect(() => pairedTest([1], [])).toThrow('before and after must be equally long, got 1 and 0');
    expect(() => pairedTest([1], [NaN])).toThrow('after[0] - before[0] must be a finite number, got NaN');
  });
});
