import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  effectiveGroupRatio,
  expectedEffectiveGroupRatio,
  signalScore,
} from '../../src/coevolution/diagnostics.ts';
import { difficultyReward } from '../../src/coevolution/difficulty-reward.ts';
import { binomialDistribution, successHistogram } from '../../src/numerics/intervals.ts';

const groups = (...successes: number[]) => successes.map((k) => ({ successes: k, attempts: 8 }));
const unmeasured = { successes: 0, attempts: 0 };
const group = fc
  .tuple(fc.nat(12), fc.nat(12))
  .map(([a, b]) => ({ successes: Math.min(a, b), attempts: Math.max(a, b) }));

describe('effectiveGroupRatio', () => {
  it('is the share of measured groups that are neither unsolved nor fully solved', () => {
    expect(effectiveGroupRatio([...groups(0, 1, 7, 8), unmeasured])).toBe(0.5);
    expect(effectiveGroupRatio([unmeasured])).toBeNull();
    expect(effectiveGroupRatio([])).toBeNull();
  });

  it('has the expectation of coevolution.md 3.1', () => {
    expect(expectedEffectiveGroupRatio(0.02, 8)).toBeCloseTo(0.15, 2);
    // 0.6952: printed as .69
    expect(expectedEffectiveGroupRatio(0.138, 8)).toBeCloseTo(0.695, 3);
    expect(expectedEffectiveGroupRatio(0.5, 8)).toBeCloseTo(0.99, 2);
    expect(expectedEffectiveGroupRatio(0.9, 8)).toBeCloseTo(0.57, 2);
  });

  it('is symmetric in p, and rises with the group', () => {
    fc.assert(
      fc.property(fc.double({ min: 0, max: 1, noNaN: true }), fc.integer({ min: 1, max: 64 }), (p, n) => {
        const ratio = expectedEffectiveGroupRatio(p, n);
        expect(ratio).toBeGreaterThanOrEqual(0);
        expect(ratio).toBeLessThanOrEqual(1);
        expect(expectedEffectiveGroupRatio(1 - p, n)).toBeCloseTo(ratio, 12);
        expect(expectedEffectiveGroupRatio(p, n + 1)).toBeGreaterThanOrEqual(ratio - 1e-12);
        // The sum over the groups that count.
        expect(
          binomialDistribution(n, p)
            .slice(1, n)
            .reduce((sum, share) => sum + share, 0),
        ).toBeCloseTo(ratio, 9);
      }),
    );
  });

  it('names what is out of its domain', () => {
    expect(() => effectiveGroupRatio([{ successes: 9, attempts: 8 }])).toThrow(
      'groups[0].successes must be an integer in [0, 8], got 9',
    );
    expect(() => expectedEffectiveGroupRatio(2, 8)).toThrow('p must be in [0, 1], got 2');
    expect(() => expectedEffectiveGroupRatio(0.5, 0)).toThrow(
      'groupSize must be an integer of at least 1, got 0',
    );
  });
});

describe('signalScore', () => {
  it('is the mean of 4 p (1 - p) n / (n - 1)', () => {
    // k = 4: 4 * 4 * 4 / (8 * 7) = 8/7; k = 2: 4 * 2 * 6 / 56 = 6/7; k = 8: 0. Mean of the three: 14/21 =
    // 2/3.
    expect(signalScore(groups(4))).toBeCloseTo(8 / 7, 12);
    expect(signalScore(groups(4, 2, 8))).toBeCloseTo(2 / 3, 12);
    expect(signalScore([{ successes: 1, attempts: 1 }, unmeasured])).toBeNull();
  });

  it('shows the bimodal batch that R_env of the mean does not', () => {
    expect(difficultyReward(0.5, { alpha: 0.5, beta: 8 })).toBe(1);
    expect(signalScore(groups(0, 8, 0, 8))).toBe(0);
  });

  it('is unbiased', () => {
    fc.assert(
      fc.property(fc.double({ min: 0, max: 1, noNaN: true }), fc.integer({ min: 2, max: 32 }), (p, n) => {
        const expected = binomialDistribution(n, p).reduce(
          (sum, share, k) => sum + share * (signalScore([{ successes: k, attempts: n }]) ?? NaN),
          0,
        );
        expect(expected).toBeCloseTo(4 * p * (1 - p), 9);
      }),
    );
  });

  it('is 0 exactly where no group is effective', () => {
    fc.assert(
      fc.property(fc.array(group), (batch) => {
        const measured = batch.filter(({ attempts }) => attempts >= 2);
        const score = signalScore(measured);
        expect(score === 0).toBe(effectiveGroupRatio(measured) === 0);
      }),
    );
  });

  it('names what is out of its domain', () => {
    expect(() => signalScore([{ successes: 0.5, attempts: 8 }])).toThrow('groups[0].successes');
  });
});

describe('successHistogram', () => {
  it('counts groups by their successes', () => {
    expect(successHistogram([...groups(0, 0, 4, 8), unmeasured, { successes: 4, attempts: 7 }], 8)).toEqual({
      counts: [2, 0, 0, 0, 1, 0, 0, 0, 1],
      incomplete: 2,
    });
    expect(successHistogram([], 2)).toEqual({ counts: [0, 0, 0], incomplete: 0 });
  });

  it('loses no group', () => {
    fc.assert(
      fc.property(fc.array(group), fc.integer({ min: 1, max: 12 }), (batch, n) => {
        const { counts, incomplete } = successHistogram(batch, n);
        expect(counts).toHaveLength(n + 1);
        expect(counts.reduce((sum, count) => sum + count, incomplete)).toBe(batch.length);
      }),
    );
  });

  it('names what is out of its domain', () => {
    expect(() => successHistogram([], 0)).toThrow('n must be an integer of at least 1, got 0');
  });
});
