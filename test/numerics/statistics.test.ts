import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { misrankBound, misrankProbability } from '../../src/comparison/theory/ranking.ts';
import { binomialDistribution, wilsonInterval } from '../../src/numerics/intervals.ts';

const rate = fc.double({ min: 0, max: 1, noNaN: true });

describe('binomialDistribution', () => {
  it('is C(n, k) p^k (1 - p)^(n - k)', () => {
    // n = 4, p = 0.5: 1 4 6 4 1 of 16. n = 2, p = 0.1: 0.81, 0.18, 0.01.
    for (const [k, share] of binomialDistribution(4, 0.5).entries())
      expect(share).toBeCloseTo(([1, 4, 6, 4, 1][k] ?? NaN) / 16, 12);
    for (const [k, share] of binomialDistribution(2, 0.1).entries())
      expect(share).toBeCloseTo([0.81, 0.18, 0.01][k] ?? NaN, 12);
    expect(binomialDistribution(3, 0)).toEqual([1, 0, 0, 0]);
    expect(binomialDistribution(3, 1).map((share) => Math.abs(share))).toEqual([0, 0, 0, 1]);
    expect(binomialDistribution(0, 0.3)).toEqual([1]);
  });

  it('sums to 1 with mean n p, for large n too', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 2000 }), rate, (n, p) => {
        const shares = binomialDistribution(n, p);
        expect(shares.reduce((sum, share) => sum + share, 0)).toBeCloseTo(1, 8);
        expect(shares.reduce((sum, share, k) => sum + share * k, 0) / Math.max(1, n)).toBeCloseTo(
          n === 0 ? 0 : p,
          8,
        );
      }),
    );
  });

  it('names what is out of its domain', () => {
    expect(() => binomialDistribution(-1, 0.5)).toThrow('n must be an integer of at least 0, got -1');
    expect(() => binomialDistribution(1, 1.1)).toThrow('p must be in [0, 1], got 1.1');
  });
});

describe('misrankProbability', () => {
  it('is the table of coevolution.md 3.1', () => {
    const table: Record<number, number[]> = {
      0.9: [0.315, 0.102, 0.013, 0],
      0.75: [0.544, 0.365, 0.177, 0.047],
      0.6: [0.677, 0.604, 0.515, 0.401],
    };
    for (const [p2, row] of Object.entries(table)) {
      for (const [i, expected] of row.entries())
        expect(misrankProbability(0.5, Number(p2), [4, 8, 16, 32][i] ?? NaN)).toBeCloseTo(expected, 3);
    }
  });

  it('counts ties as wrong', () => {
    // n = 1, α = 0.5: both rates are 0.5 away, whatever happens.
    expect(misrankProbability(0.5, 1, 1)).toBeCloseTo(1, 12);
    // n = 2, p1 = 0.5 against p2 = 1: wrong unless the first is 1 of 2, which has probability 0.5.
    expect(misrankProbability(0.5, 1, 2)).toBeCloseTo(0.5, 12);
    // α = 0.55, n = 10: 10/10 is as far as 1/10, though 1 - 0.55 is less than 0.55 - 0.1 in the last bits;
    // so only 0/10 is farther: 1 - 0.9^10 = 0.6513215599.
    expect(misrankProbability(1, 0.1, 10, 0.55)).toBeCloseTo(0.6513215599, 9);
    expect(misrankProbability(1, 1, 3, 0.3)).toBeCloseTo(1, 12);
  });

  it('is at most the bound of Theorem 1, is symmetric about 0.5, and is better than chance', () => {
    fc.assert(
      fc.property(rate, rate, fc.integer({ min: 1, max: 40 }), (p, q, n) => {
        const [near, far] = Math.abs(p - 0.5) <= Math.abs(q - 0.5) ? [p, q] : [q, p];
        const wrong = misrankProbability(near, far, n);
        expect(wrong).toBeLessThanOrEqual(misrankBound(Math.abs(near - 0.5), Math.abs(far - 0.5), n) + 1e-9);
        expect(misrankProbability(1 - near, far, n)).toBeCloseTo(wrong, 8);
        expect(wrong).toBeLessThanOrEqual(misrankProbability(far, near, n) + 1e-9);
      }),
      { numRuns: 60 },
    );
  });
});

describe('misrankBound', () => {
  it('is 4 exp(-(2/9) (Δ2 - Δ1)² n), and vacuous at practical n', () => {
    // 0.5 against 0.9: Δ2 - Δ1 = 0.4; 4 exp(-0.2222 * 0.16 * 8) = 3.01; below 0.05 from n = 124 on.
    expect(misrankBound(0, 0.4, 8)).toBeCloseTo(3.01, 2);
    expect(misrankBound(0, 0.4, 123)).toBeGreaterThan(0.05);
    expect(misrankBound(0, 0.4, 124)).toBeLessThan(0.05);
  });

  it('names what is out of its domain', () => {
    expect(() => misrankBound(0.4, 0.1, 8)).toThrow('delta2 must be in [0.4, 1], got 0.1');
    expect(() => misrankBound(0, 0.4, 0)).toThrow('n must be an integer of at least 1, got 0');
    expect(() => misrankProbability(0.5, 0.9, 8, 2)).toThrow('alpha must be in [0, 1], got 2');
  });
});

describe('wilsonInterval', () => {
  it('is the score interval', () => {
    // k = 4 of 8, z = 2: z²/n = 0.5; centre (0.5 + 0.25) / 1.5 = 0.5; margin (2 / 1.5) sqrt(0.25/8 + 4/256) =
    // 0.288675.
    const { low, high } = wilsonInterval({ successes: 4, attempts: 8 }, 2);
    expect(low).toBeCloseTo(0.211325, 6);
    expect(high).toBeCloseTo(0.788675, 6);
    // k = 0 of 10: z² / (n + z²) = 3.8415 / 13.8415 = 0.27753.
    expect(wilsonInterval({ successes: 0, attempts: 10 }).low).toBe(0);
    expect(wilsonInterval({ successes: 0, attempts: 10 }).high).toBeCloseTo(0.27753, 5);
    expect(wilsonInterval({ successes: 0, attempts: 0 })).toEqual({ low: 0, high: 1 });
  });

  it('contains the rate, mirrors, and narrows with more attempts', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 500 }), rate, (attempts, share) => {
        const successes = Math.round(share * attempts);
        const { low, high } = wilsonInterval({ successes, attempts });
        expect(low).toBeGreaterThanOrEqual(0);
        expect(high).toBeLessThanOrEqual(1);
        expect(low).toBeLessThanOrEqual(successes / attempts);
        expect(high).toBeGreaterThanOrEqual(successes / attempts);
        const mirrored = wilsonInterval({ successes: attempts - successes, attempts });
        expect(mirrored.low).toBeCloseTo(1 - high, 9);
        const more = wilsonInterval({ successes: 4 * successes, attempts: 4 * attempts });
        expect(more.high - more.low).toBeLessThan(high - low);
      }),
    );
  });

  it('covers the truth about as often as it says', () => {
    // Exact coverage at n = 50: near 0.95 for every p away from the ends.
    for (const p of [0.1, 0.3, 0.5, 0.8]) {
      const coverage = binomialDistribution(50, p).reduce((sum, share, successes) => {
        const { low, high } = wilsonInterval({ successes, attempts: 50 });
        return sum + (low <= p && p <= high ? share : 0);
      }, 0);
      expect(coverage).toBeGreaterThan(0.92);
      expect(coverage).toBeLessThan(0.99);
    }
  });

  it('names what is out of its domain', () => {
    expect(() => wilsonInterval({ successes: 3, attempts: 2 })).toThrow(
      'count.successes must be an integer in [0, 2], got 3',
    );
    expect(() => wilsonInterval({ successes: 1, attempts: 2 }, 0)).toThrow(
      'z must be a finite number above 0, got 0',
    );
  });
});
