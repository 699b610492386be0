import { expect, test } from 'vitest';
import { aggregate } from '../../src/benchmarks/bfcl/aggregate.ts';
import { accuracyName, bfclCategories, suiteName } from '../../src/benchmarks/bfcl/categories.ts';
import type { CategoryName } from '../../src/benchmarks/bfcl/categories.ts';
import { rateScore } from '../../src/benchmarks/suite.ts';
import type { Score } from '../../src/benchmarks/suite.ts';

/** Scores of the given share of right cases in each category; null did not run. */
function figures(shareOf: (name: CategoryName) => number | null): Map<string, Score> {
  const bySuite = new Map<string, Score[]>();
  for (const name of Object.keys(bfclCategories) as CategoryName[]) {
    const share = shareOf(name);
    const { cases } = bfclCategories[name];
    if (share !== null)
      bySuite.set(suiteName(name), [rateScore(accuracyName(name, 'prompt'), share * cases, cases)]);
  }
  return new Map(aggregate(bySuite).map((score) => [score.name, score]));
}

const percent = (score: Score | undefined): string => (100 * score!.value).toFixed(2);

test('the golden table of the official aggregator: 94.70', () => {
  const shares: Partial<Record<CategoryName, number | null>> = {
    simple_java: null,
    simple_javascript: null,
    live_simple: 256 / 258,
    live_multiple: 1051 / 1053,
  };
  const otherShare = (name: string): number => (name.startsWith('multi_turn') ? 0.88 : 1);
  const table = figures((name) => (name in shares ? (shares[name] ?? null) : otherShare(name)));
  expect([...table].map(([name, score]) => [name, percent(score)])).toEqual([
    ['bfcl_v4_non_live_prompt', '83.33'],
    ['bfcl_v4_live_prompt', '99.70'],
    ['bfcl_v4_irrelevance_mean_prompt', '100.00'],
    ['bfcl_v4_multi_turn_prompt', '88.00'],
    ['bfcl_v4_agentic_prompt', '100.00'],
    ['bfcl_v4_overall_prompt', '94.70'],
  ]);
  expect(table.get('bfcl_v4_overall_prompt')!.note).toContain('simple_java, simple_javascript');
  expect(table.get('bfcl_v4_live_prompt')).not.toHaveProperty('note');
});

test('what did not run counts as 0 with its official number of cases, and is named', () => {
  const table = figures((name) => (name === 'live_parallel' ? 1 : null));
  expect(table.get('bfcl_v4_live_prompt')).toMatchObject({
    value: 16 / 1351,
    of: 1351, // eslint-disable-line id-denylist -- its name on disk
    successes: null,
    interval: null,
  });
  expect(table.get('bfcl_v4_live_prompt')!.note).toContain(
    'live_simple, live_multiple, live_parallel_multiple',
  );
  expect(figures(() => null).size).toBe(0);
});
