import { describe, expect, test } from 'vitest';
import { resultsMarkdown } from '../../src/comparison/results-markdown.ts';
import { summarize } from '../../src/comparison/summary.ts';
import { comparison, runs } from './some-runs.ts';
import type { Course } from './some-runs.ts';

const plan = comparison();
const course: Course = { heldOut: () => [0.1, 0.2, 0.3, 0.4], success: () => 0.5 };
const suite = 'benchmark/bfcl_v4_multiple_first50';
/** The initial agent, by `random` alone; then what each arm ends with: .02, .04 and .06 more, or the same. */
const scored = runs(plan, { tuned: course, random: course }).map((run) => ({
  ...run,
  rows: run.rows.map((row) => {
    const before = 0.1 * run.seed;
    if (row.epoch === 0 && run.arm === 'random')
      return { ...row, metrics: { ...row.metrics, [suite]: before } };
    if (row.epoch !== 12) return row;
    const after = run.arm === 'tuned' ? before + 0.02 * run.seed : before;
    return { ...row, metrics: { ...row.metrics, [suite]: after } };
  }),
}));

describe('benchmarks of a comparison', () => {
  const summary = summarize(plan, scored, []);

  test('are compared with the initial agent of the seed, whichever arm evaluated it, and with the baseline', () => {
    const [{ before, arms }] = summary.benchmarks as [(typeof summary.benchmarks)[number]];
    expect(before?.mean).toBeCloseTo(0.2, 9);
    const byArm = Object.fromEntries(arms.map(({ arm, ...rest }) => [arm, rest]));
    expect(byArm.tuned!.after?.mean).toBeCloseTo(0.24, 9);
    expect(byArm.tuned!.gain?.mean).toBeCloseTo(0.04, 9);
    expect(byArm.tuned!.difference?.mean).toBeCloseTo(0.04, 9);
    expect(byArm.random!.gain?.mean).toBeCloseTo(0, 9);
    expect(byArm.random!.difference).toBeNull();
    expect(byArm.tuned!.gain).toMatchObject({ adjusted: null, seeds: 3 });
  });

  test('stand in the results, and only if there are some', () => {
    expect(resultsMarkdown(summary)).toMatch(
      /^\| bfcl_v4_multiple_first50 \| tuned \| 0\.200 \[.*\] \| 0\.240 \[.*\] \| \+0\.040 \[.*\] \| \+0\.040 \[.*\] \|$/m,
    );
    expect(resultsMarkdown(summarize(plan, runs(plan, { tuned: course, random: course }), []))).not.toContain(
      '## Benchmarks',
    );
  });
});
