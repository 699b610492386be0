import { describe, expect, it } from 'vitest';
import type { Query } from '../../src/benchmarks/travelplanner/data/task.ts';
import type { Score } from '../../src/benchmarks/suite.ts';
import { officialVerdict } from '../../src/benchmarks/travelplanner/official/verdict.ts';
import type { PlanVerdict } from '../../src/benchmarks/travelplanner/official/verdict.ts';
import { hashOf } from '../../src/store/canonical-json.ts';
import { fixtureLines, goldPlan, openTravel, task, train } from './travelplanner-support.ts';
import type { Plan } from './travelplanner-support.ts';

const rates = [
  'delivery',
  'commonsense_micro',
  'commonsense_macro',
  'hard_micro',
  'hard_macro',
  'final',
] as const;

const suite = await openTravel('soleplanning');

/** Per cent of each official rate, of plans made of the annotated ones. */
async function percentages(planOf: (plan: Plan, idx: number) => Plan | null): Promise<number[]> {
  const answered = suite.cases.map((item) => {
    const plan = planOf(goldPlan(item.idx), item.idx);
    return { item, response: { answer: plan === null ? '' : JSON.stringify(plan), steps: 0, end: 'stop' } };
  });
  const verdicts = await suite.judge(answered, new AbortController().signal);
  const scores = suite.scores(verdicts.map((verdict, index) => ({ id: suite.cases[index]!.id, verdict })));
  return rates.map((rate) =>
    Number(
      (100 * scores.find(({ name }) => name === `travelplanner_train_${rate}_soleplanning`)!.value).toFixed(
        3,
      ),
    ),
  );
}

/** On the first day that is spent in one city, dinner is where lunch was. */
function dinnerWhereLunchWas(plan: Plan): Plan {
  const day = plan.find(
    ({ current_city }) => typeof current_city === 'string' && !current_city.includes('from'),
  )!;
  day.dinner = day.lunch;
  return plan;
}

describe('the golden table of the official evaluation', () => {
  it.each<[string, (plan: Plan, idx: number) => Plan | null, number[]]>([
    ['annotated plans', (plan) => plan, [100, 100, 100, 100, 100, 100]],
    [
      'none for the first 15',
      (plan, idx) => (idx <= 15 ? null : plan),
      [66.667, 66.667, 66.667, 85.714, 66.667, 66.667],
    ],
    ['dinner where lunch was', dinnerWhereLunchWas, [100, 87.5, 0, 88.571, 75.556, 0]],
    [
      'no accommodation on day 1 of every third',
      (plan, idx) => (idx % 3 === 1 ? plan.with(0, { ...plan[0], accommodation: '-' }) : plan),
      [100, 92.778, 66.667, 66.667, 66.667, 66.667],
    ],
    ['none at all', () => null, [0, 0, 0, 0, 0, 0]],
  ])('%s', async (_, planOf, expected) => {
    expect(await percentages(planOf)).toEqual(expected);
  });
});

type Recorded = {
  task: number;
  query?: Partial<Query>;
  length: number;
  days: Record<string, Plan[number]>;
  verdict: Pick<PlanVerdict, 'commonsense' | 'hard'> | null;
};

/**
 * Verdicts of the official evaluation (commit da7c1d41, run on the very tables that are rebuilt here) on
 * plans changed at random: a plan is the annotated one of its task with `days` replaced, cut to `length`;
 * null where the official code ended with an error.
 */
describe('the official evaluation, plan by plan', () => {
  it('says the same of 150 broken plans', async () => {
    const recorded = await fixtureLines<Recorded>('travelplanner-official-verdicts.jsonl');
    expect(recorded).toHaveLength(150);
    for (const { task: idx, query, length, days, verdict } of recorded) {
      const gold = goldPlan(idx);
      const plan = Array.from({ length }, (_, index) => days[index + 1] ?? gold[index]);
      const ours = officialVerdict({ ...task(idx).query, ...query }, plan, train.sandbox);
      const failed = ours.why.plan === undefined ? { commonsense: ours.commonsense, hard: ours.hard } : null;
      expect(failed, JSON.stringify({ idx, days })).toEqual(verdict);
    }
  });
});

describe('scores', () => {
  const goldScores = async (count: number): Promise<Score[]> => {
    const cases = suite.cases.slice(0, count);
    const verdicts = await suite.judge(
      cases.map((item) => ({ item, response: suite.gold(item)! })),
      new AbortController().signal,
    );
    return suite.scores(verdicts.map((verdict, index) => ({ id: cases[index]!.id, verdict })));
  };

  it.each([
    ['the split', 45, 360, 105],
    ['the cases that were asked', 30, 240, 45],
  ])('have the denominators of %s', async (_, count, commonsense, hard) => {
    const scores = await goldScores(count);
    expect(scores.map((score) => [score.name, score.of, score.successes])).toEqual([
      ['travelplanner_train_delivery_soleplanning', count, count],
      ['travelplanner_train_commonsense_micro_soleplanning', commonsense, null],
      ['travelplanner_train_commonsense_macro_soleplanning', count, count],
      ['travelplanner_train_hard_micro_soleplanning', hard, null],
      ['travelplanner_train_hard_macro_soleplanning', count, count],
      ['travelplanner_train_final_soleplanning', count, count],
      ['travelplanner_train_genenv_mean4_soleplanning', 4, null],
    ]);
    expect(scores.map((score) => score.value)).toEqual(scores.map(() => 1));
  });

  it('have intervals where a rate has one, and a figure under the name of GenEnv', async () => {
    const verdicts = await suite.judge(
      suite.cases.map((item) => ({
        item,
        response: item.idx % 3 === 0 ? { answer: '', steps: 0, end: 'stop' } : suite.gold(item)!,
      })),
      new AbortController().signal,
    );
    const scores = suite.scores(verdicts.map((verdict, index) => ({ id: suite.cases[index]!.id, verdict })));
    const value = (rate: string): number =>
      scores.find(({ name }) => name === `travelplanner_train_${rate}_soleplanning`)!.value;
    expect(value('genenv_mean4')).toBeCloseTo(
      (value('commonsense_micro') + value('commonsense_macro') + value('hard_micro') + value('hard_macro')) /
        4,
      12,
    );
    for (const { value: rate, interval } of scores.slice(0, 6)) {
      expect(interval!.low).toBeLessThanOrEqual(rate);
      expect(interval!.high).toBeGreaterThanOrEqual(rate);
      expect(interval!.high).toBeLessThanOrEqual(1);
    }
    expect(scores.at(-1)).toMatchObject({
      interval: null,
      note: expect.stringContaining('CS/HD Avg') as string,
    });
  });

  it('tell the tools’ formats apart', async () => {
    for (const format of ['prompt', 'native'] as const) {
      const tools = await openTravel('tooluse', format);
      expect(tools.scores([]).map(({ name }) => name)).toContain(
        `travelplanner_train_final_tooluse_${format}`,
      );
    }
  });

  it('come from verdicts that can be kept', async () => {
    const [verdict] = await suite.judge(
      [{ item: suite.cases[0]!, response: suite.gold(suite.cases[0]!)! }],
      new AbortController().signal,
    );
    expect(verdict).toMatchObject({
      correct: true,
      reason: null,
      scores: {
        delivery: 1,
        commonsense_micro: 1,
        commonsense_macro: 1,
        hard_micro: 1,
        hard_macro: 1,
        final: 1,
      },
    });
    expect(hashOf(verdict)).toMatch(/^[0-9a-f]{64}$/u);
    expect(suite.dataHash).toMatch(/^[0-9a-f]{64}$/u);
  });
});
