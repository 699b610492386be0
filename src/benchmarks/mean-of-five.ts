import { mean } from '../numerics/arithmetic.ts';
import { figureScore } from './suite.ts';
import { paperBenchmarks } from './paper-table.ts';
import type { PaperBenchmark } from './paper-table.ts';
import type { Score } from './suite.ts';

/**
 * GenEnv's five figures, as its paper seems to report them (arXiv 2512.19682, table 1): of each benchmark the
 * first of these names that an evaluation has. Official splits alone: a smoke test or a train split is not the
 * benchmark.
 */
const FIGURES: Readonly<Record<PaperBenchmark, readonly string[]>> = {
  ALFWorld: ['alfworld_valid_unseen_genenv_by_step', 'alfworld_valid_seen_genenv_by_step'],
  BFCL: ['prompt', 'native'].map(
    (format) => `bfcl_v4_multi_turn_long_context_turn_success_gold_history_${format}`,
  ),
  'API-Bank': ['api_bank_genenv_toolrl_exact_prompt'],
  Bamboogle: ['bamboogle_genenv_judge_search_prompt'],
  TravelPlanner: ['soleplanning', 'tooluse_prompt', 'tooluse_native'].map(
    (setting) => `travelplanner_validation_genenv_mean4_${setting}`,
  ),
};

/**
 * The figure of each of the five benchmarks that an evaluation has; undefined for those that it has not.
 * @param scores figures of suites of which all cases were judged
 */
export const fiveFigures = (scores: readonly Score[]): Record<PaperBenchmark, Score | undefined> =>
  Object.fromEntries(
    paperBenchmarks.map((benchmark) => [
      benchmark,
      FIGURES[benchmark]
        .map((name) => scores.find((score) => score.name === name))
        .find((score) => score !== undefined),
    ]),
  ) as Record<PaperBenchmark, Score | undefined>;

/**
 * The unweighted mean of the five benchmarks (53.6 in the paper, 33.0 for its base model); none unless all five
 * are there.
 * @param scores figures of suites of which all cases were judged
 */
export function meanOfFive(scores: readonly Score[]): Score[] {
  const figures = Object.values(fiveFigures(scores)).filter((score) => score !== undefined);
  if (figures.length < paperBenchmarks.length) return [];
  return [
    figureScore({
      name: 'genenv_mean5',
      value: mean(figures.map(({ value }) => value))!,
      total: figures.length,
      note: `unweighted mean of ${figures.map(({ name }) => name).join(', ')}; GenEnv's paper has 53.6 for its 7B agent, and does not say which rates it takes`,
    }),
  ];
}
