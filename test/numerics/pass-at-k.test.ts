import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { passAtK } from '../../src/numerics/tests.ts';

/** All ways to take k of some attempts, those whose bit is set. */
const subsets = (attempts: number, k: number): number[] =>
  Array.from({ length: 2 ** attempts }, (_, bits) => bits).filter(
    (bits) => [...bits.toString(2)].filter((bit) => bit === '1').length === k,
  );

describe('passAtK', () => {
  it('is the share of all choices of k attempts that hold a success', () => {
    for (let attempts = 1; attempts <= 8; attempts++) {
      for (let k = 1; k <= attempts; k++) {
        const chosen = subsets(attempts, k);
        for (let successes = 0; successes <= attempts; successes++) {
          const solved = 2 ** successes - 1;
          expect(passAtK({ successes, attempts }, k)).toBeCloseTo(
            chosen.filter((bits) => (bits & solved) !== 0).length / chosen.length,
            12,
          );
        }
      }
    }
  });

  it('is the success rate at k = 1, and never falls with k', () => {
    fc.assert(
      fc.property(fc.integer({ min: 2, max: 64 }), fc.nat(64), (attempts, sampled) => {
        const count = { successes: Math.min(sampled, attempts), attempts };
        const curve = Array.from({ length: attempts }, (_, index) => passAtK(count, index + 1));
        expect(curve[0]).toBeCloseTo(count.successes / attempts, 12);
        expect(curve).toEqual(curve.toSorted((left, right) => left - right));
      }),
    );
  });

  it('has no estimate from fewer attempts than k', () => {
    expect(() => passAtK({ successes: 1, attempts: 4 }, 5)).toThrow('k must be an integer in [1, 4], got 5');
  });
});
