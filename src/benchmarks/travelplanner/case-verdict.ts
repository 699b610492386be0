import { cutText } from '../../formats/plain-text.ts';
import { readLiteral } from '../../formats/python-literal.ts';
import type { CaseVerdict } from '../suite.ts';
import { commonsenseNames, hardNames } from './official/constraint.ts';
import type { PlanVerdict } from './official/verdict.ts';
import { countKept, keepsAll } from './rates.ts';

/** Maximum characters of a reason that are kept: it quotes the plan's own texts. */
const MAX_REASON_LENGTH = 300;

/**
 * A plan's verdict as a case's. Scores are shares of the plan's own constraints; rates over tasks follow from
 * `detail`.
 */
export function travelCaseVerdict(plan: PlanVerdict): CaseVerdict {
  const why = Object.fromEntries(
    Object.entries(plan.why).map(([name, text]) => [name, cutText(text, MAX_REASON_LENGTH)]),
  );
  const applicable = Object.values(plan.hard ?? {}).filter((holds) => holds !== null).length;
  return {
    correct: plan.passes,
    scores: {
      delivery: Number(plan.delivered),
      commonsense_micro: countKept(plan, 'commonsense') / commonsenseNames.length,
      commonsense_macro: Number(keepsAll(plan, 'commonsense')),
      hard_micro: plan.hard === null ? 0 : countKept(plan, 'hard') / applicable,
      hard_macro: Number(keepsAll(plan, 'hard')),
      final: Number(plan.passes),
    },
    reason: plan.passes ? null : failureReason(plan),
    detail: { ...plan, why } satisfies PlanVerdict,
  };
}

/** The verdict on the plan that a case's verdict was made of. */
export const planVerdict = (verdict: CaseVerdict): PlanVerdict => verdict.detail as PlanVerdict;

function failureReason(plan: PlanVerdict): string {
  if (!plan.delivered) return 'not_delivered';
  if (plan.why.plan !== undefined) return 'malformed_plan';
  return [...commonsenseNames, ...hardNames].find((name) => plan.why[name] !== undefined) ?? 'not_evaluated';
}

/** Characters of an answer that are read, from its end: real plans of seven days have 6,000. */
const MAX_ANSWER_LENGTH = 200_000;

/**
 * The last complete list of objects in an answer, after any reasoning and in any fence: the plan. Null if
 * there is none.
 */
export function findPlan(answer: string): Record<string, unknown>[] | null {
  const text = answer.slice(-MAX_ANSWER_LENGTH);
  const opening = /\[\s*\{/gu;
  let plan: Record<string, unknown>[] | null = null;
  for (let match = opening.exec(text); match !== null; match = opening.exec(text)) {
    const literal = readLiteral(text, match.index);
    if (literal === undefined) continue;
    if (isPlan(literal.value)) plan = literal.value;
    opening.lastIndex = literal.end;
  }
  return plan;
}

function isPlan(value: unknown): value is Record<string, unknown>[] {
  return (
    Array.isArray(value) &&
    value.every((day) => typeof day === 'object' && day !== null && !Array.isArray(day))
  );
}

/** What is judged of an attempt, and how it ended. JSON. */
export interface PlanResponse {
  /** The text that should contain the plan; empty if the attempt ended before it. */
  answer: string;
  /** Steps of tool use, the call of the planner included; 0 in sole planning. */
  steps: number;
  /** Why it ended: the last answer's finish reason, or why the agent gave up. */
  end: string;
}
