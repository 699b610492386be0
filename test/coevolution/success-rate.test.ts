import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { successRate } from '../../src/coevolution/success-rate.ts';

describe('successRate', () => {
  it('counts rewards of at least the threshold', () => {
    expect(successRate([1, 0, 0.99, 1])).toEqual({ successes: 2, attempts: 4, rate: 0.5 });
    expect(successRate([1, 0, 0.99, 1], 0.9)).toEqual({ successes: 3, attempts: 4, rate: 0.75 });
  });

  it('is null, not 0, when nothing was attempted', () => {
    expect(successRate([])).toEqual({ successes: 0, attempts: 0, rate: null });
  });

  it('is in [0, 1], does not depend on order, and falls as the threshold rises', () => {
    const reward = fc.double({ min: 0, max: 1, noNaN: true });
    fc.assert(
      fc.property(fc.array(reward, { minLength: 1 }), reward, reward, (rewards, left, right) => {
        const low = successRate(rewards, Math.min(left, right)).rate ?? NaN;
        const high = successRate(rewards.toReversed(), Math.max(left, right)).rate ?? NaN;
        expect(low).toBeLessThanOrEqual(1);
        expect(high).toBeGreaterThanOrEqual(0);
        expect(high).toBeLessThanOrEqual(low);
      }),
    );
  });

  it('refuses rewards that are none', () => {
    expect(() => successRate([0, 1.5])).toThrow('rewards[1] must be in [0, 1], got 1.5');
    expect(() => successRate([NaN])).toThrow('rewards[0] must be in [0, 1], got NaN');
    expect(() => successRate([1], -0.1)).toThrow('threshold must be in [0, 1], got -0.1');
  });
});
