import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  learningProgress,
  updateLearningProgress,
  verdictAgreement,
} from '../../src/coevolution/diagnostics.ts';
import type { ProgressState } from '../../src/coevolution/diagnostics.ts';
import { capFamilies, discrimination, discriminationGate } from '../../src/coevolution/guards.ts';

const rate = fc.double({ min: 0, max: 1, noNaN: true });

describe('capFamilies', () => {
  it('scales the family above the cap down to it', () => {
    // T has 6 of 8; with the others at 2 half of the whole is 2: each of its weights by a third.
    const capped = capFamilies([3, 3, 1, 1], ['T', 'T', 'U', 'V']);
    expect(capped[0]).toBeCloseTo(1, 12);
    expect(capped[1]).toBeCloseTo(1, 12);
    expect(capped.slice(2)).toEqual([1, 1]);
    expect(capFamilies([2, 1, 1], ['T', 'U', 'V'])).toEqual([2, 1, 1]);
  });

  it('caps several families at once', () => {
    // Cap 0.4 over 5, 4, 1: both large ones above; c = 0.4 (2c + 1) = 2.
    const capped = capFamilies([5, 4, 1], ['T', 'U', 'V'], 0.4);
    expect(capped[0]).toBeCloseTo(2, 12);
    expect(capped[1]).toBeCloseTo(2, 12);
    expect(capped[2]).toBe(1);
  });

  it('makes families equal where the cap cannot be held, and leaves a lone one', () => {
    expect(capFamilies([9, 1], ['T', 'U'])).toEqual([1, 1]);
    expect(capFamilies([8, 4, 2], ['T', 'U', 'V'], 0)).toEqual([2, 2, 2]);
    expect(capFamilies([9, 3], ['T', 'T'])).toEqual([9, 3]);
    expect(capFamilies([9, 3, 0], ['T', 'T', 'U'])).toEqual([9, 3, 0]);
    expect(capFamilies([0, 0], ['T', 'U'])).toEqual([0, 0]);
    expect(capFamilies([], [])).toEqual([]);
  });

  it('holds the cap, changes nothing below it, and keeps the proportions within a family', () => {
    const record = fc.record({
      family: fc.constantFrom('T', 'U', 'V', 'W', '__proto__'),
      weight: fc.double({ min: 0.001, max: 20, noNaN: true }),
    });
    fc.assert(
      fc.property(fc.array(record, { minLength: 1, maxLength: 30 }), rate, (records, maxShare) => {
        const families = records.map(({ family }) => family);
        const weights = records.map(({ weight }) => weight);
        const capped = capFamilies(weights, families, maxShare);
        const total = capped.reduce((sum, weight) => sum + weight, 0);
        const limit = Math.max(maxShare, 1 / new Set(families).size);
        for (const family of new Set(families)) {
          const mine = capped.filter((_, i) => families[i] === family);
          const share = mine.reduce((sum, weight) => sum + weight, 0) / total;
          expect(share).toBeLessThanOrEqual(limit + 1e-9);
          const factors = capped.flatMap((weight, i) =>
            families[i] === family ? [weight / (weights[i] ?? NaN)] : [],
          );
          for (const factor of factors) expect(factor).toBeCloseTo(factors[0] ?? NaN, 9);
          expect(Math.max(...factors)).toBeLessThanOrEqual(1);
          // Only a family at the cap was touched.
          if ((factors[0] ?? 1) < 1 - 1e-9) expect(share).toBeCloseTo(limit, 6);
        }
        for (const [i, weight] of capFamilies(capped, families, maxShare).entries())
          expect(weight).toBeCloseTo(capped[i] ?? NaN, 6);
      }),
    );
  });

  it('names what is out of its domain', () => {
    expect(() => capFamilies([1], ['T', 'U'])).toThrow(
      'weights and families must be equally long, got 1 and 2',
    );
    expect(() => capFamilies([-1], ['T'])).toThrow('weights[0] must be in [0, ');
    expect(() => capFamilies([1], ['T'], 2)).toThrow('maxShare must be in [0, 1], got 2');
  });
});

describe('verdictAgreement', () => {
  it('is the share of equal verdicts', () => {
    expect(verdictAgreement([1, 0, 0.5, 1], [1, 1, 0.5, 1])).toBe(0.75);
    expect(verdictAgreement([], [])).toBeNull();
  });

  it('is symmetric, and 1 with itself', () => {
    const pair = fc.tuple(fc.constantFrom(0, 0.5, 1), fc.constantFrom(0, 0.5, 1));
    fc.assert(
      fc.property(fc.array(pair, { minLength: 1 }), (pairs) => {
        const first = pairs.map(([first]) => first);
        const second = pairs.map(([, second]) => second);
        expect(verdictAgreement(first, second)).toBe(verdictAgreement(second, first));
        expect(verdictAgreement(first, first)).toBe(1);
      }),
    );
  });

  it('names what is out of its domain', () => {
    expect(() => verdictAgreement([1], [])).toThrow('first and second must be equally long, got 1 and 0');
    expect(() => verdictAgreement([1], [NaN])).toThrow('second[0] must be a finite number, got NaN');
  });
});

describe('discrimination', () => {
  it('is the agent less the random policy', () => {
    expect(discrimination(0.75, 0.25)).toBe(0.5);
    expect(discrimination(0, 0.5)).toBe(-0.5);
    expect(discrimination(null, 0.5)).toBeNull();
    expect(discrimination(0.5, null)).toBeNull();
  });

  it('opens the gate above its minimum only', () => {
    expect([discriminationGate(0.01), discriminationGate(0), discriminationGate(-0.2)]).toEqual([1, 0, 0]);
    expect([discriminationGate(0.2, 0.1), discriminationGate(0.1, 0.1)]).toEqual([1, 0]);
    expect(discriminationGate(null)).toBe(0);
  });

  it('changes sign when the policies are swapped', () => {
    fc.assert(
      fc.property(rate, rate, (agent, random) => {
        expect(discrimination(agent, random)).toBeCloseTo(-(discrimination(random, agent) ?? NaN), 12);
      }),
    );
  });

  it('names what is out of its domain', () => {
    expect(() => discrimination(1.5, 0)).toThrow('agentRate must be in [0, 1], got 1.5');
    expect(() => discriminationGate(2)).toThrow('gap must be in [-1, 1], got 2');
    expect(() => discriminationGate(0.5, -1)).toThrow('minimum must be in [0, 1], got -1');
  });
});

describe('learningProgress', () => {
  const fold = (epochs: readonly Record<string, number | null>[]) =>
    epochs.reduce((state: ProgressState, rates) => updateLearningProgress(state, rates), {});

  it('is the fast average less the slow one', () => {
    const state = fold([{ T: 0 }, { T: 1 }, { T: 1 }]);
    // fast: 0, 0.5, 0.75; slow: 0, 0.1, 0.1 + 0.1 * 0.9 = 0.19.
    expect(state.T?.fast).toBeCloseTo(0.75, 12);
    expect(state.T?.slow).toBeCloseTo(0.19, 12);
    expect(learningProgress(state).T).toBeCloseTo(0.56, 12);
  });

  it('is 0 at first sight, and for a family that stays as it is', () => {
    expect(learningProgress(fold([{ T: 0.7 }]))).toEqual({ T: 0 });
    expect(learningProgress(fold([{ T: 0.5 }, { T: 0.5 }, { T: 0.5 }]))).toEqual({ T: 0 });
  });

  it('leaves a family that was not measured as it is', () => {
    const state = fold([{ T: 0, U: 1 }]);
    expect(updateLearningProgress(state, { T: null })).toEqual(state);
    expect(Object.keys(fold([{ b: 1 }, { a: 1 }]))).toEqual(['a', 'b']);
  });

  it('keeps its bounds, its sign and its input', () => {
    const series = fc.array(rate, { minLength: 1, maxLength: 20 });
    fc.assert(
      fc.property(series, fc.constantFrom('T', '__proto__', 'constructor'), (rates, family) => {
        const rising = fold(rates.toSorted((left, right) => left - right).map((p) => ({ [family]: p })));
        const falling = fold(rates.toSorted((left, right) => right - left).map((p) => ({ [family]: p })));
        const progress = Object.values(learningProgress(rising))[0] ?? NaN;
        expect(progress).toBeGreaterThanOrEqual(-1e-12);
        expect(progress).toBeLessThanOrEqual(1);
        expect(Object.values(learningProgress(falling))[0] ?? NaN).toBeLessThanOrEqual(1e-12);
        const before = structuredClone(rising);
        updateLearningProgress(rising, { [family]: 0 });
        expect(rising).toEqual(before);
      }),
    );
  });

  it('names what is out of its domain', () => {
    expect(() => updateLearningProgress({}, { T: 2 })).toThrow('rates.T must be in [0, 1], got 2');
    expect(() => updateLearningProgress({}, {}, { fast: 0.1, slow: 0.5 })).toThrow(
      'slow must be in (0, fast = 0.1), got 0.5',
    );
  });
});
