import { describe, expect, test } from 'vitest';
import { primaryCells, primaryVerdictText } from '../../src/comparison/primary-markdown.ts';
import { resultsMarkdown } from '../../src/comparison/results-markdown.ts';
import { summarize } from '../../src/comparison/summary.ts';
import type { Summary } from '../../src/comparison/summary.ts';
import { parseComparison } from '../../src/config/comparison.ts';
import type { PrimarySettings } from '../../src/config/primary-comparisons.ts';
import { tinyComparison } from '../../test-support/tiny-comparison.ts';
import { refusalOf } from '../../test-support/refusals.ts';
import { comparison, runs } from './some-runs.ts';
import type { Course } from './some-runs.ts';

/** Held-out success at the end of the arm `tuned`, minus that of `random`, by seed. */
const summaryOf = (
  differences: readonly number[],
  margin = 0.02,
  measure: PrimarySettings['measure'] = 'finalHeldOut',
): Summary => {
  const seeds = differences.map((_, index) => index + 1);
  const plan = {
    ...comparison(seeds),
    primary: [{ arm: 'tuned', against: 'random', measure, margin }],
  };
  const ending = (end: (seed: number) => number): Course => ({
    heldOut: (seed) => [0.1, 0.1, 0.1, end(seed)],
    success: () => 0.5,
  });
  const courses = {
    tuned: ending((seed) => 0.4 + seed / 50 + differences[seed - 1]!),
    random: ending((seed) => 0.4 + seed / 50),
  };
  return summarize(plan, runs(plan, courses), []);
};
const judged = (differences: readonly number[], margin?: number) =>
  summaryOf(differences, margin).primary[0]!;

describe('a comparison that was named beforehand', () => {
  test('is larger or smaller where six seeds say so', () => {
    const ahead = [0.05, 0.06, 0.04, 0.09, 0.02, 0.03];
    expect(judged(ahead)).toMatchObject({ verdict: 'larger', p: 2 / 64, equivalent: false });
    expect(judged(ahead.map((value) => -value))).toMatchObject({ verdict: 'smaller', p: 2 / 64 });
    // However sure Student's interval is, five cannot.
    const five = judged([0.05, 0.051, 0.052, 0.053, 0.054]);
    expect(five).toMatchObject({ verdict: 'undecided', p: 2 / 32 });
    expect(five.difference!.low).toBeGreaterThan(0.04);
  });

  test('is equivalent where the 90 % interval lies inside the margin', () => {
    // Mean 0.002, t(5) = 2.015.
    const near = [0.002, 0.012, -0.008, 0.012, 0.002, -0.008];
    const { narrow, ...rest } = judged(near);
    const deviation = Math.sqrt((4 * 0.01 ** 2) / 5);
    expect(narrow!.high).toBeCloseTo(0.002 + (2.015 * deviation) / Math.sqrt(6), 5);
    expect(rest).toMatchObject({ verdict: 'equivalent', equivalent: true });
    expect(primaryVerdictText({ narrow, ...rest })).toBe('equivalent within 0.020');
    expect(judged(near, 0.009)).toMatchObject({ verdict: 'undecided', equivalent: false });
  });

  test('may be larger, and yet within the margin', () => {
    const result = judged([0.005, 0.006, 0.004, 0.005, 0.003, 0.004]);
    expect(result).toMatchObject({ verdict: 'larger', equivalent: true });
    expect(primaryVerdictText(result)).toBe('larger but equivalent within 0.020');
  });

  test('has no interval where all seeds are alike, and is judged by their signs', () => {
    expect(judged([0, 0, 0, 0, 0])).toMatchObject({ narrow: null, verdict: 'equivalent' });
    expect(judged([0, 0, 0, 0])).toMatchObject({ narrow: null, verdict: 'undecided' });
    expect(judged([0.1])).toMatchObject({ narrow: null, p: 1, verdict: 'undecided' });
  });

  test('is of nothing where a seed did not come to the threshold', () => {
    // Held-out success ends below .5 under every seed: both arms' figures are the rollouts that are compared.
    const never = summaryOf([0, 0, 0, 0, 0], 20, 'rolloutsToThreshold').primary[0]!;
    expect(never).toMatchObject({ bySeed: [0, 0, 0, 0, 0], p: null, narrow: null, verdict: 'undecided' });
    const [, , difference, , p, narrow] = primaryCells(never);
    expect([difference, p, narrow]).toEqual(['–', '–', '–']);
    const differences = [0.3, 0.3, 0.3, 0.3, 0.3, 0.3];
    const [once] = summaryOf(differences, 0.02, 'rolloutsToThreshold').primary;
    expect(once).toMatchObject({ p: null, equivalent: false, verdict: 'undecided' });
  });

  test('stands first in the results, with every seed', () => {
    const text = resultsMarkdown(summaryOf([0.05, 0.06, 0.04, 0.09, 0.02, 0.03]));
    expect(text.indexOf('## Primary comparisons')).toBeLessThan(text.indexOf('## Claims'));
    expect(text).toContain(
      '| tuned − random | held-out success at the end, at equal rollouts | +0.048 [0.022, 0.074] | ' +
        '0.050, 0.060, 0.040, 0.090, 0.020, 0.030 | p = 0.031 | [0.028, 0.069] | 0.020 | **larger** |',
    );
    expect(resultsMarkdown(summaryOf([0.05, 0.06]))).toContain(
      'Over 2 seeds the test cannot give less than 0.5: it takes 6 to find one arm larger than another.',
    );
  });
});

describe('in a file', () => {
  const problemOf = (primary: unknown): string => refusalOf(parseComparison, tinyComparison({ primary }));
  const named = { arm: 'tuned', against: 'random', measure: 'area', margin: 0.02 };

  test('two can be named, of arms that there are, each once', () => {
    expect(parseComparison(tinyComparison({ primary: [named] })).primary).toEqual([named]);
    expect(parseComparison(tinyComparison())).not.toHaveProperty('primary');
    expect(problemOf([{ ...named, arm: 'tumed' }])).toBe(
      'comparison: primary[0].arm: got "tumed"; allowed: tuned, random',
    );
    expect(problemOf([{ ...named, against: 'tuned' }])).toBe(
      'comparison: primary[0].against: got "tuned"; expected another arm than arm',
    );
    expect(problemOf([named, { ...named, arm: 'random', against: 'tuned' }])).toBe(
      'comparison: primary[1]: got the comparison of primary[0] again; expected another',
    );
    expect(
      problemOf([named, { ...named, measure: 'residence' }, { ...named, measure: 'informative' }]),
    ).toMatch(/^comparison: primary: /);
    expect(problemOf([{ ...named, margin: 0 }])).toMatch(/^comparison: primary\[0]\.margin: got 0; /);
  });
});
