import { dayFields, MalformedPlan, readDays } from '../data/plan.ts';
import type { DayPlan } from '../data/plan.ts';
import type { Sandbox } from '../data/sandbox.ts';
import type { Query } from '../data/task.ts';
import { citiesOf } from '../official/commonsense.ts';
import { commonsenseNames } from '../official/constraint.ts';
import type { CommonsenseName, Delivered, HardName } from '../official/constraint.ts';
import { malformedVerdict, officialVerdict } from '../official/verdict.ts';
import type { PlanVerdict } from '../official/verdict.ts';
import { strictConstraints } from './constraints.ts';

/**
 * A verdict to train on: the official one without its holes, which a policy would exploit. Plans that pass it
 * pass the official evaluation too. A plan has the requested form (one entry a day, the requested fields, all
 * of them texts), every attraction is checked, names and cities must be equal, flights are on their day, days
 * are continuous. Never the benchmark's score.
 */
export function strictVerdict(query: Query, plan: readonly unknown[] | null, sandbox: Sandbox): PlanVerdict {
  const official = officialVerdict(query, plan, sandbox);
  if (official.commonsense === null || plan === null || official.why.plan !== undefined) return official;
  const malformed = findFormProblem(query, plan);
  if (malformed !== null) return malformedVerdict(malformed);
  const delivered: Delivered = { query, days: readDays(plan, query.days), sandbox };
  const broken = (Object.keys(strictConstraints) as (CommonsenseName | HardName)[]).flatMap((name) => {
    const why = official.why[name] ?? strictConstraints[name]!(delivered);
    return why === null ? [] : [[name, why] as const];
  });
  const why = { ...official.why, ...Object.fromEntries(broken) };
  const commonsense = Object.fromEntries(
    commonsenseNames.map((name) => [name, why[name] === undefined]),
  ) as Record<CommonsenseName, boolean>;
  const isEvaluated = official.hard !== null && commonsense.within_sandbox;
  const hard = isEvaluated
    ? (Object.fromEntries(
        Object.entries(official.hard!).map(([name, holds]) => [
          name,
          holds && why[name as HardName] === undefined,
        ]),
      ) as typeof official.hard)
    : null;
  return {
    delivered: true,
    commonsense,
    hard,
    passes: isEvaluated && official.passes && broken.length === 0,
    why,
  };
}

const allowedFields = new Set<string>(['days', 'day', ...dayFields]);

/**
 * Why a plan does not have the requested form; null if it has. Days after the requested ones may be `{}`, as
 * in annotated plans.
 */
function findFormProblem(query: Query, plan: readonly unknown[]): string | null {
  if (plan.length < query.days) return `it has not ${query.days} days`;
  if (
    plan
      .slice(query.days)
      .some((day) => typeof day !== 'object' || day === null || Object.keys(day).length > 0)
  )
    return `it has more than ${query.days} days`;
  for (const [index, day] of readDays(plan, query.days).entries()) {
    const missing = dayFields.find((field) => typeof day[field] !== 'string');
    if (missing !== undefined) return `day ${index + 1} has no ${missing}`;
    const unexpected = Object.keys(plan[index] as object).find((key) => !allowedFields.has(key));
    if (unexpected !== undefined) return `day ${index + 1} has a field that was not asked for`;
    // The official checks may end before they come to this day.
    const problem = findCitiesProblem(day, index + 1);
    if (problem !== null) return problem;
  }
  return null;
}

function findCitiesProblem(day: DayPlan, number: number): string | null {
  try {
    citiesOf(day, number);
    return null;
  } catch (error) {
    if (error instanceof MalformedPlan) return error.message;
    throw error;
  }
}
