import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { difficultyReward } from '../../src/coevolution/difficulty-reward.ts';
import { binomialDistribution } from '../../src/numerics/intervals.ts';

const paper = { alpha: 0.5, beta: 2 };
const rate = fc.double({ min: 0, max: 1, noNaN: true });

describe('difficultyReward', () => {
  it('is exp(-β (p̂ - α)²)', () => {
    expect(difficultyReward(0.5, paper)).toBe(1);
    // exp(-2 * 0.25) = exp(-0.5) = 0.60653
    expect(difficultyReward(0, paper)).toBeCloseTo(0.60653, 5);
    expect(difficultyReward(1, paper)).toBeCloseTo(0.60653, 5);
    // exp(-8 * 0.3²) = exp(-0.72) = 0.48675
    expect(difficultyReward(0.8, { alpha: 0.5, beta: 8 })).toBeCloseTo(0.48675, 5);
  });

  it('is biased low near α when it is measured: coevolution.md 1.5, E[R_env] at p = 0.5, n = 8', () => {
    const expected = binomialDistribution(8, 0.5).reduce(
      (sum, share, k) => sum + share * difficultyReward(k / 8, paper),
      0,
    );
    expect(expected).toBeCloseTo(0.942, 3);
  });

  it('is in (0, 1], highest at α, falls with the distance and is symmetric', () => {
    fc.assert(
      fc.property(rate, rate, rate, fc.double({ min: 0.01, max: 100, noNaN: true }), (p, q, alpha, beta) => {
        const [near, far] = Math.abs(p - alpha) <= Math.abs(q - alpha) ? [p, q] : [q, p];
        const reward = difficultyReward(near, { alpha, beta });
        expect(reward).toBeGreaterThan(0);
        expect(reward).toBeLessThanOrEqual(1);
        expect(reward).toBeGreaterThanOrEqual(difficultyReward(far, { alpha, beta }));
        expect(difficultyReward(p, { alpha: 0.5, beta })).toBeCloseTo(
          difficultyReward(1 - p, { alpha: 0.5, beta }),
          9,
        );
      }),
    );
  });

  it('names what is out of its domain', () => {
    expect(() => difficultyReward(1.2, paper)).toThrow('successRate must be in [0, 1], got 1.2');
    expect(() => difficultyReward(NaN, paper)).toThrow('successRate');
    expect(() => difficultyReward(0.5, { alpha: -1, beta: 2 })).toThrow('alpha must be in [0, 1], got -1');
    expect(() => difficultyReward(0.5, { alpha: 0.5, beta: 0 })).toThrow(
      'beta must be a finite number above 0, got 0',
    );
  });
});
