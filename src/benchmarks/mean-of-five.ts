import { mean } from '../numerics/arithmetic.ts';
import { figureScore } from './suite.ts';
import type { Score } from './suite.ts';

/**
 * GenEnv's five figures, as its paper seems to report them (arXiv 2512.19682, table 1): of each benchmark the
 * first of these names that an evaluation has. Official splits alone: a smoke test or a train split is not the
 * benchmark.
 */
const FIGURES = {
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
 * The unweighted mean of the five benchmarks (53.6 in the paper, 33.0 for its base model); none unless all five
 * are there.
 * @param scores figures of suites of which all cases were judged
 */
export function meanOfFive(scores: readonly Score[]): Score[] {
  const taken = Object.values(FIGURES).map((names) =>
    names.map((name) => scores.find((score) => score.name === name)).find((score) => score !== undefined),
  );
  const figures = taken.filter((score) => score !== undefined);
  if (figures.length < taken.length) return [];
  return [
    figureScore({
      name: 'genenv_mean5',
      value: mean(figures.map(({ value }) => value))!,
      total: figures.length,
      note: `unweighted mean of ${figures.map(({ name }) => name).join(', ')}; GenEnv's paper has 53.6 for its 7B agent, and does not say which rates it takes`,
    }),
  ];
}
