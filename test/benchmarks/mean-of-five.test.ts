import { expect, test } from 'vitest';
import { fiveFigures, meanOfFive } from '../../src/benchmarks/mean-of-five.ts';
import { paperBenchmarks, paperTable } from '../../src/benchmarks/paper-table.ts';
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

test('every row of the paper’s table has five figures, whose mean is its average', () => {
  expect(paperTable.map(({ model }) => model)).toHaveLength(12);
  for (const { model, percents, average } of paperTable) {
    expect(percents, model).toHaveLength(paperBenchmarks.length);
    const mean = percents.reduce((sum, percent) => sum + percent, 0) / percents.length;
    expect(Math.abs(mean - average), model).toBeLessThanOrEqual(0.0501);
  }
  expect(paperTable.at(-1)).toEqual({
    model: 'GenEnv',
    group: '7B',
    percents: Object.values(paper).map((rate) => Math.round(1000 * rate) / 10),
    average: 53.6,
  });
});

test('figures that an evaluation has stand beside those of the paper, also without all five', () => {
  const { bamboogle_genenv_judge_search_prompt: bamboogle } = paper;
  const figures = fiveFigures(scoresOf({ bamboogle_genenv_judge_search_prompt: bamboogle, toolbox: 1 }));
  expect(Object.keys(figures)).toEqual([...paperBenchmarks]);
  expect(figures.Bamboogle?.value).toBe(0.76);
  expect(Object.values(figures).filter((score) => score !== undefined)).toHaveLength(1);
});
