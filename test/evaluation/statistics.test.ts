import { describe, expect, it } from 'vitest';
import { pairedEvaluations } from '../../src/evaluation/paired.ts';
import type { Evaluated } from '../../src/evaluation/paired.ts';
import { mcNemar } from '../../src/numerics/tests.ts';

const pairs = (both: number, onlyFirst: number, onlySecond: number, neither: number) => [
  ...Array.from({ length: both }, () => ({ first: true, second: true })),
  ...Array.from({ length: onlyFirst }, () => ({ first: true, second: false })),
  ...Array.from({ length: onlySecond }, () => ({ first: false, second: true })),
  ...Array.from({ length: neither }, () => ({ first: false, second: false })),
];

describe('McNemar’s exact test', () => {
  // By hand: P = min(1, 2 Σ_{k <= min} C(n, k) / 2^n).
  it.each([
    { both: 10, onlyFirst: 0, onlySecond: 0, neither: 3, p: 1 },
    { both: 0, onlyFirst: 5, onlySecond: 5, neither: 0, p: 1 },
    { both: 3, onlyFirst: 1, onlySecond: 9, neither: 2, p: (2 * (1 + 10)) / 2 ** 10 },
    { both: 3, onlyFirst: 9, onlySecond: 1, neither: 2, p: (2 * (1 + 10)) / 2 ** 10 },
    { both: 100, onlyFirst: 6, onlySecond: 0, neither: 0, p: 2 / 2 ** 6 },
    { both: 59, onlyFirst: 6, onlySecond: 16, neither: 80, p: (2 * 110_056) / 2 ** 22 },
  ])('of $both, $onlyFirst, $onlySecond, $neither has p = $p', ({ p, ...counts }) => {
    const { both, onlyFirst, onlySecond, neither } = counts;
    const test = mcNemar(pairs(both, onlyFirst, onlySecond, neither));
    expect(test).toMatchObject(counts);
    expect(test.p).toBeCloseTo(p, 12);
  });
});

function evaluated(
  id: string,
  right: Record<string, boolean>,
  dataHash = 'a'.repeat(64),
  versions: object = { rules: '1', engine: '2' },
): Evaluated {
  const suite = { name: 'sums', skipped: null, cases: 4, dataHash, versions };
  return {
    results: { id, suites: [suite] } as unknown as Evaluated['results'],
    cases: Object.entries(right).map(([caseId, correct]) => ({
      suite: 'sums',
      id: caseId,
      correct,
      scores: {},
      reason: null,
    })),
  };
}

describe('two evaluations', () => {
  it('are paired by case, on those that both have', () => {
    const [paired] = pairedEvaluations(
      evaluated('one', { a: true, b: true, c: false, d: true }),
      evaluated('two', { b: false, a: true, c: false, e: true }),
    );
    expect(paired).toMatchObject({
      suite: 'sums',
      cases: 3,
      test: { both: 1, onlyFirst: 1, onlySecond: 0, neither: 1, p: 1 },
      difference: { mean: 1 / 3 },
    });
  });
  it('by other rules are not, until one is scored again', () => {
    const by = (id: string, versions: object) => evaluated(id, { a: true }, undefined, versions);
    expect(() => pairedEvaluations(by('one', { rules: '1' }), by('two', { rules: '2' }))).toThrow(
      'sums: one was judged by {"rules":"1"}, two by {"rules":"2"}: judge the older one again with `genenv rescore`',
    );
    expect(
      pairedEvaluations(evaluated('one', { a: true }), by('two', { engine: '2', rules: '1' })),
    ).toHaveLength(1);
  });
  it('of other data, or of other suites, are not', () => {
    expect(() =>
      pairedEvaluations(evaluated('one', { a: true }), evaluated('two', { a: true }, 'b'.repeat(64))),
    ).toThrow('not the same cases');
    expect(() =>
      pairedEvaluations(evaluated('one', { a: true }), {
        results: { id: 'two', suites: [] } as unknown as Evaluated['results'],
        cases: [],
      }),
    ).toThrow('no suite in common');
  });
});
