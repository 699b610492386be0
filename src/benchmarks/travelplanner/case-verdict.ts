import type { CaseVerdict } from '../suite.ts';
import { commonsenseNames, hardNames } from './official/constraint.ts';
import type { PlanVerdict } from './official/verdict.ts';
import { kept, keepsAll } from './rates.ts';

/** Most characters that are kept of why a constraint is broken: a plan's own texts are in it. */
const longestReason = 300;

/** A plan's verdict as a case's. Scores are shares of the plan's own constraints; rates over tasks follow from `detail`. */
export function verdictOf(plan: PlanVerdict): CaseVerdict {
  const why = Object.fromEntries(
    Object.entries(plan.why).map(([name, text]) => [name, text.slice(0, longestReason).toWellFormed()]),
  );
  const asked = Object.values(plan.hard ?? {}).filter((holds) => holds !== null).length;
  return {
    correct: plan.passes,
    scores: {
      delivery: Number(plan.delivered),
      commonsense_micro: kept(plan, 'commonsense') / commonsenseNames.length,
      commonsense_macro: Number(keepsAll(plan, 'commonsense')),
      hard_micro: plan.hard === null ? 0 : kept(plan, 'hard') / asked,
      hard_macro: Number(keepsAll(plan, 'hard')),
      final: Number(plan.passes),
    },
    reason: plan.passes ? null : reasonOf(plan),
    detail: { ...plan, why } satisfies PlanVerdict,
  };
}

/** The verdict on the plan that a case's verdict was made of. */
export const planVerdict = (verdict: CaseVerdict): PlanVerdict => verdict.detail as PlanVerdict;

function reasonOf(plan: PlanVerdict): string {
  if (!plan.delivered) return 'not_delivered';
  if (plan.why.plan !== undefined) return 'malformed_plan';
  return [...commonsenseNames, ...hardNames].find((name) => plan.why[name] !== undefined) ?? 'not_evaluated';
}
