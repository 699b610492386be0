import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { difficultyFilter } from '../../src/coevolution/difficulty-filter.ts';
import type { DifficultyRule } from '../../src/coevolution/difficulty-filter.ts';
import { binomialDistribution } from '../../src/numerics/intervals.ts';

const paper: DifficultyRule = { type: 'threshold', alpha: 0.5, kMin: 0.1 };

function kept(rates: readonly (number | null)[], rule: DifficultyRule): number[] {
  return difficultyFilter(rates, rule).flatMap(({ kept }, i) => (kept ? [i] : []));
}

describe('difficultyFilter', () => {
  it('gives every rate a decision and its reason', () => {
    expect(difficultyFilter([0.5, 0.9, 0.1, null], paper)).toEqual([
      { kept: true, reason: 'kept' },
      { kept: false, reason: 'too easy' },
      { kept: false, reason: 'too hard' },
      { kept: false, reason: 'not measured' },
    ]);
    expect(difficultyFilter([0.9, null], { type: 'off' })).toEqual([
      { kept: true, reason: 'kept' },
      { kept: false, reason: 'not measured' },
    ]);
  });

  it('includes both ends of the threshold, whatever their last bit', () => {
    expect(kept([0.4, 0.6, 0.39, 0.61], paper)).toEqual([0, 1]);
    // 0.45 - 0.35 is 0.10000000000000003.
    expect(kept([0.45, 0.25], { type: 'threshold', alpha: 0.35, kMin: 0.1 })).toEqual([0, 1]);
  });

  it('keeps nothing when everything is out of bounds, and says so', () => {
    expect(kept([0, 1, 0.2], paper)).toEqual([]);
    expect(kept([], paper)).toEqual([]);
    expect(kept([null, null], { type: 'topK', alpha: 0.5, k: 2 })).toEqual([]);
  });

  it('keeps the nearest share, rounded up', () => {
    // Distances to 0.5: 0.5, 0.1, 0.3, 0.2; half of four is two: indices 1 and 3.
    expect(kept([0, 0.6, 0.8, 0.3], { type: 'quantile', alpha: 0.5, keep: 0.5 })).toEqual([1, 3]);
    // The release's int(N * k) = 0 emptied every batch below ten prompts.
    expect(kept([0, 0.6, 0.8], { type: 'quantile', alpha: 0.5, keep: 0.1 })).toEqual([1]);
    // 0.07 * 100 is 7.000000000000001, and 7 are meant.
    expect(kept(Array<number>(100).fill(0.5), { type: 'quantile', alpha: 0.5, keep: 0.07 })).toHaveLength(7);
    expect(kept([null, 1, null, 0.9], { type: 'quantile', alpha: 0.5, keep: 0.5 })).toEqual([3]);
  });

  it('breaks ties by index, also where rounding hides them', () => {
    // 0.7 - 0.5 is 0.19999999999999996, 0.5 - 0.3 is 0.2.
    expect(kept([0.3, 0.7], { type: 'topK', alpha: 0.5, k: 1 })).toEqual([0]);
    expect(kept([0.7, 0.3], { type: 'topK', alpha: 0.5, k: 1 })).toEqual([0]);
    expect(
      difficultyFilter([0.5, 0.5, 0.75], { type: 'topK', alpha: 0.5, k: 1 }).map(({ reason }) => reason),
    ).toEqual(['kept', 'surplus', 'too easy']);
    expect(kept([0.1, 0.2], { type: 'topK', alpha: 0.5, k: 9 })).toEqual([0, 1]);
  });

  it('starves both ends: the pass probabilities of coevolution.md 1.7, item 4', () => {
    const passes = (p: number, n: number) => {
      const decisions = difficultyFilter(
        Array.from({ length: n + 1 }, (_, k) => k / n),
        paper,
      );
      return binomialDistribution(n, p).reduce(
        (sum, share, k) => sum + (decisions[k]?.kept === true ? share : 0),
        0,
      );
    };
    expect(passes(0.138, 8)).toBeCloseTo(0.014, 3);
    expect(passes(0.5, 8)).toBeCloseTo(0.273, 3);
    expect(passes(0.9, 8)).toBeCloseTo(0.005, 3);
    expect(passes(0.138, 32)).toBeCloseTo(0, 3);
    expect(kept([0, 0.25, 0.5, 0.75, 1], paper)).toEqual([2]);
  });

  it('keeps the nearest, as many as asked, and no unmeasured one', () => {
    const rates = fc.array(
      fc.option(
        fc.integer({ min: 0, max: 8 }).map((k) => k / 8),
        { nil: null },
      ),
    );
    fc.assert(
      fc.property(
        rates,
        fc.integer({ min: 1, max: 10 }),
        fc.integer({ min: 0, max: 8 }),
        (values, k, eighths) => {
          const alpha = eighths / 8;
          const decisions = difficultyFilter(values, { type: 'topK', alpha, k });
          const distances = (wanted: boolean) =>
            values.flatMap((rate, i) =>
              rate !== null && decisions[i]?.kept === wanted ? [Math.abs(rate - alpha)] : [],
            );
          expect(distances(true)).toHaveLength(Math.min(k, values.filter((rate) => rate !== null).length));
          expect(Math.max(-1, ...distances(true))).toBeLessThanOrEqual(Math.min(2, ...distances(false)));
          for (const [i, rate] of values.entries())
            expect(decisions[i]?.reason === 'not measured').toBe(rate === null);
        },
      ),
    );
  });

  it('keeps more as the bound widens', () => {
    const rate = fc.double({ min: 0, max: 1, noNaN: true });
    fc.assert(
      fc.property(fc.array(rate), rate, rate, (values, left, right) => {
        const narrow = kept(values, { type: 'threshold', alpha: 0.5, kMin: Math.min(left, right) });
        const wide = kept(values, { type: 'threshold', alpha: 0.5, kMin: Math.max(left, right) });
        expect(wide).toEqual(expect.arrayContaining(narrow));
      }),
    );
  });

  it('names what is out of its domain', () => {
    expect(() => difficultyFilter([0.5, 2], paper)).toThrow('successRates[1] must be in [0, 1], got 2');
    expect(() => difficultyFilter([0.5], { type: 'threshold', alpha: 0.5, kMin: -1 })).toThrow(
      'kMin must be in [0, 1], got -1',
    );
    expect(() => difficultyFilter([0.5], { type: 'quantile', alpha: 0.5, keep: 0 })).toThrow(
      'keep must be in (0, 1], got 0',
    );
    expect(() => difficultyFilter([0.5], { type: 'topK', alpha: 0.5, k: 0.5 })).toThrow(
      'k must be an integer of at least 1, got 0.5',
    );
    expect(() => difficultyFilter([0.5], { type: 'topK', alpha: 5, k: 1 })).toThrow(
      'alpha must be in [0, 1], got 5',
    );
  });
});
