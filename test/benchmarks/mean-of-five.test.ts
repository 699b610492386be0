import { expect, test } from 'vitest';
import { meanOfFive } from '../../src/benchmarks/mean-of-five.ts';
import { figureScore } from '../../src/benchmarks/suite.ts';

const paper = {
  alfworld_valid_unseen_genenv_by_step: 0.545,
  bfcl_v4_multi_turn_long_context_turn_success_gold_history_prompt: 0.418,
  api_bank_genenv_toolrl_exact_prompt: 0.791,
  bamboogle_genenv_judge_search_prompt: 0.76,
  travelplanner_validation_genenv_mean4_soleplanning: 0.166,
};
const scoresOf = (figures: Record<string, number>) =>
  Object.entries(figures).map(([name, value]) => figureScore({ name, value, total: 100 }));

test('the mean of the paper’s five figures is the paper’s average', () => {
  const [score, ...more] = meanOfFive(scoresOf(paper));
  expect(more).toEqual([]);
  expect(score).toMatchObject({ name: 'genenv_mean5', successes: null, interval: null });
  expect(score!.value).toBeCloseTo(0.536, 12);
  expect(score!.note).toMatch(/alfworld_valid_unseen_genenv_by_step, bfcl_v4/);
});

test('without one of the five there is no mean, and a smoke test or a train split is none of them', () => {
  for (const name of Object.keys(paper)) {
    const { [name as keyof typeof paper]: value, ...rest } = paper;
    expect(meanOfFive(scoresOf(rest))).toEqual([]);
    expect(meanOfFive(scoresOf({ ...rest, [`${name}_first10`]: value }))).toEqual([]);
  }
  const { alfworld_valid_unseen_genenv_by_step: steps, ...rest } = paper;
  expect(meanOfFive(scoresOf({ ...rest, alfworld_own_genenv_by_step: steps }))).toEqual([]);
  expect(meanOfFive(scoresOf({ ...rest, alfworld_valid_seen_genenv_by_step: steps }))).toHaveLength(1);
});
