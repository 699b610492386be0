import { boundedMeanInterval } from '../../numerics/intervals.ts';
import { figureScore, rateScore } from '../suite.ts';
import type { Score } from '../suite.ts';
import { splitSizes } from './data/task.ts';
import type { Query, SplitName, SplitSize } from './data/task.ts';
import { commonsenseNames } from './official/constraint.ts';
import { requestedConstraints } from './official/verdict.ts';
import type { PlanVerdict } from './official/verdict.ts';

type GroupName = 'commonsense' | 'hard';

/** Constraints of a group that a plan keeps. */
export const countKept = (verdict: PlanVerdict, group: GroupName): number =>
  Object.values(verdict[group] ?? {}).filter((holds) => holds === true).length;

/** Whether a plan keeps all constraints of a group that apply; false if they were not evaluated. */
export const keepsAll = (verdict: PlanVerdict, group: GroupName): boolean =>
  verdict[group] !== null && Object.values(verdict[group]).every((holds) => holds !== false);

/** The verdict on the plan for a query. */
export interface JudgedPlan {
  query: Query;
  verdict: PlanVerdict;
}

/**
 * The six rates of evaluation/eval.py, and the mean of the four in the middle. Their denominators are the
 * split's own, or what the queries ask for where they are a part of it: a plan that was not delivered keeps no
 * constraint.
 */
export function officialRates(plans: readonly JudgedPlan[], split: SplitName, setting: string): Score[] {
  const verdicts = plans.map(({ verdict }) => verdict);
  const size = plans.length < splitSizes[split].tasks ? sizeOf(plans) : splitSizes[split];
  const name = (rate: string): string => `travelplanner_${split}_${rate}_${setting}`;
  const rate = (rule: string, counts: (verdict: PlanVerdict) => boolean): Score =>
    rateScore(name(rule), verdicts.filter(counts).length, size.tasks);
  const micro = (group: GroupName): Score =>
    microScore(
      name(`${group}_micro`),
      verdicts.map((verdict) => countKept(verdict, group)),
      size[group],
    );
  const groups = (['commonsense', 'hard'] as const).flatMap((group) => [
    micro(group),
    rate(`${group}_macro`, (verdict) => keepsAll(verdict, group)),
  ]);
  return [
    rate('delivery', (verdict) => verdict.delivered),
    ...groups,
    rate('final', (verdict) => verdict.passes),
    meanOfFour(name('genenv_mean4'), groups),
  ];
}

const sizeOf = (plans: readonly JudgedPlan[]): SplitSize => ({
  tasks: plans.length,
  commonsense: commonsenseNames.length * plans.length,
  hard: plans.flatMap(({ query }) => Object.values(requestedConstraints(query)).filter(Boolean)).length,
});

/**
 * Constraints kept of all constraints. Constraints of a task are not independent, so the interval is over
 * tasks.
 */
function microScore(name: string, keptByTask: readonly number[], total: number): Score {
  const shares = keptByTask.map((count) => (count * keptByTask.length) / total);
  const interval = boundedMeanInterval(shares, { low: 0, high: 1 }, { seed: 0, resamples: 2000 });
  const value = total === 0 ? 0 : keptByTask.reduce((sum, count) => sum + count, 0) / total;
  return figureScore({
    name,
    value,
    total,
    interval: interval && { low: interval.low, high: Math.min(1, interval.high) },
    note: 'constraints kept of all constraints; interval by bootstrap over tasks',
  });
}

function meanOfFour(name: string, rates: readonly Score[]): Score {
  const value = rates.reduce((sum, rate) => sum + rate.value, 0) / rates.length;
  const note =
    'mean of commonsense and hard, micro and macro: GenEnv\'s paper calls its figure "CS/HD Avg" and does not say of which rates';
  return figureScore({ name, value, total: rates.length, note });
}
