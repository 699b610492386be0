import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { difficultyReward } from '../../src/coevolution/difficulty-reward.ts';
import { effectiveSampleSize, regressionWeights } from '../../src/coevolution/regression-weights.ts';

const reward = fc.double({ min: 0, max: 1, noNaN: true });
const rewards = fc.array(reward, { minLength: 1, maxLength: 40 });
const lambda = fc.double({ min: 0, max: 50, noNaN: true });
const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0);

describe('regressionWeights', () => {
  it('is N exp(λ (R - max R)) / Σ', () => {
    // λ = ln 3, R = 1 and 0: exp = 1 and 1/3, sum 4/3; 2 * 1 / (4/3) = 1.5 and 0.5.
    const weights = regressionWeights([1, 0], { lambda: Math.log(3) });
    expect(weights[0]).toBeCloseTo(1.5, 12);
    expect(weights[1]).toBeCloseTo(0.5, 12);
    expect(regressionWeights([0.3, 0.3, 0.3], { lambda: 5 })).toEqual([1, 1, 1]);
    expect(regressionWeights([], { lambda: 1 })).toEqual([]);
  });

  it('is clipped at 20', () => {
    // 30 records, all weight on one: 30, clipped.
    const single = [1, ...Array<number>(29).fill(0)];
    expect(regressionWeights(single, { lambda: 100 })[0]).toBe(20);
    expect(regressionWeights(single, { lambda: 100, clip: 5 })[0]).toBe(5);
  });

  it('has the contrasts of coevolution.md 3.1', () => {
    const contrast = (beta: number, scale: number, rate: number) => {
      const [high = NaN, low = NaN] = regressionWeights(
        [0.5, rate].map((p) => difficultyReward(p, { alpha: 0.5, beta })),
        { lambda: scale },
      );
      return high / low;
    };
    const table = [
      // beta, lambda, w(.5)/w(0), w(.5)/w(.4), with the digits printed there
      [2, 1, 1.48, 2, 1.02, 2],
      // 7.15: printed as 7.1
      [2, 5, 7.15, 2, 1.1, 2],
      [8, 1, 2.4, 1, 1.08, 2],
      [8, 5, 75, 0, 1.47, 2],
      // 143.5: printed as 144
      [20, 5, 143.5, 1, 2.5, 1],
    ] as const;
    for (const [beta, scale, far, farDigits, near, nearDigits] of table) {
      expect(contrast(beta, scale, 0)).toBeCloseTo(far, farDigits);
      expect(contrast(beta, scale, 1)).toBeCloseTo(far, farDigits);
      expect(contrast(beta, scale, 0.4)).toBeCloseTo(near, nearDigits);
    }
  });

  it('has mean 1 before clipping, rises with the reward and ignores a shift', () => {
    fc.assert(
      fc.property(rewards, lambda, fc.integer({ min: -1000, max: 1000 }), (values, scale, shift) => {
        const weights = regressionWeights(values, { lambda: scale, clip: 1000 });
        expect(sum(weights)).toBeCloseTo(values.length, 6);
        for (const [i, weight] of weights.entries()) {
          expect(weight).toBeGreaterThan(0);
          expect(weight).toBeLessThanOrEqual(values.length * (1 + 1e-12));
          for (const [j, weight2] of weights.entries()) {
            if ((values[i] ?? 0) > (values[j] ?? 0)) expect(weight).toBeGreaterThanOrEqual(weight2);
          }
        }
        const shifted = regressionWeights(
          values.map((value) => value + shift),
          { lambda: scale, clip: 1000 },
        );
        for (const [i, weight] of shifted.entries()) expect(weight).toBeCloseTo(weights[i] ?? NaN, 6);
      }),
    );
  });

  it('does not overflow', () => {
    expect(regressionWeights([1000, 1000], { lambda: 1000 })).toEqual([1, 1]);
    expect(regressionWeights([0, 1000], { lambda: 1000 })).toEqual([0, 2]);
  });

  it('names what is out of its domain', () => {
    expect(() => regressionWeights([0, Infinity], { lambda: 1 })).toThrow(
      'rewards[1] must be a finite number, got Infinity',
    );
    expect(() => regressionWeights([0], { lambda: -1 })).toThrow('lambda must be in [0, ');
    expect(() => regressionWeights([0], { lambda: 1, clip: 0 })).toThrow(
      'clip must be a finite number above 0, got 0',
    );
  });
});

describe('effectiveSampleSize', () => {
  it('is (Σ w)² / (N Σ w²)', () => {
    // 1.5 and 0.5: 4 / (2 * 2.5) = 0.8.
    expect(effectiveSampleSize([1.5, 0.5])).toBeCloseTo(0.8, 12);
    expect(effectiveSampleSize([3, 3, 3])).toBeCloseTo(1, 12);
    expect(effectiveSampleSize([7, 0, 0, 0])).toBe(0.25);
    expect(effectiveSampleSize([])).toBeNull();
    expect(effectiveSampleSize([0, 0])).toBeNull();
  });

  it('is in [1/N, 1], whatever the unit of the weights', () => {
    fc.assert(
      fc.property(rewards, lambda, fc.constantFrom(1e-200, 1, 1e200), (values, scale, unit) => {
        const weights = regressionWeights(values, { lambda: scale });
        const share = effectiveSampleSize(weights) ?? NaN;
        expect(share).toBeGreaterThanOrEqual(1 / values.length - 1e-12);
        expect(share).toBeLessThanOrEqual(1);
        expect(effectiveSampleSize(weights.map((weight) => weight * unit))).toBeCloseTo(share, 9);
      }),
    );
  });

  it('shows that the constants of the paper weigh almost nothing', () => {
    const share = (beta: number, scale: number) =>
      effectiveSampleSize(
        regressionWeights(
          [0, 0.125, 0.25, 0.375, 0.5, 0.625, 0.75, 0.875, 1].map((p) =>
            difficultyReward(p, { alpha: 0.5, beta }),
          ),
          { lambda: scale },
        ),
      );
    expect(share(2, 1)).toBeGreaterThan(0.98);
    expect(share(8, 5)).toBeLessThan(0.6);
  });

  it('names what is out of its domain', () => {
    expect(() => effectiveSampleSize([1, -1])).toThrow('weights[1] must be in [0, ');
  });
});
