import type { BenchmarkSummary } from './benchmarks.ts';
import { table } from './markdown-table.ts';
import { differenceText, estimateText } from './seed-estimates.ts';

/** The part of results.md on benchmarks; none if the runs evaluated on none. */
export function benchmarkParts(benchmarks: readonly BenchmarkSummary[], baseline: string): string[] {
  if (benchmarks.length === 0) return [];
  return [
    '## Benchmarks',
    'Main score of the agent on each suite, before the first epoch and after the last: transfer to tasks that no arm ' +
      'trains on. Differences are under the same seed, and not tested.',
    table(
      ['suite', 'arm', 'before', 'after', 'after minus before', `after, minus ${baseline}`],
      benchmarks.flatMap(({ suite, before, arms }) =>
        arms.map(({ arm, after, gain, difference }) => [
          suite,
          arm,
          estimateText(before),
          estimateText(after),
          differenceText(gain),
          differenceText(difference),
        ]),
      ),
    ),
  ];
}
