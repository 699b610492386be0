import { MalformedPlan, readDays } from '../data/plan.ts';
import type { Sandbox } from '../data/sandbox.ts';
import type { Query } from '../data/task.ts';
import {
  completeInformation,
  diverseAttractions,
  diverseRestaurants,
  minimumNightsStay,
  nonConflictingTransportation,
  reasonableCityRoute,
  withinCurrentCity,
  withinSandbox,
} from './commonsense.ts';
import { commonsenseNames, hardNames } from './constraint.ts';
import type { CommonsenseName, Constraint, Delivered, HardName } from './constraint.ts';
import { budget, cuisine, roomRule, roomType, transportation } from './hard.ts';

/** What an evaluation says of a plan. JSON. */
export interface PlanVerdict {
  /** A plan was delivered, of whatever content. */
  delivered: boolean;
  /** Null without a plan. */
  commonsense: Record<CommonsenseName, boolean> | null;
  /** Null if hard constraints are not evaluated; a constraint is null if the query does not ask for it. */
  hard: Record<HardName, boolean | null> | null;
  /** All constraints of both groups that apply. */
  passes: boolean;
  /** Why constraints are broken, by their names; `plan` if no plan could be evaluated. */
  why: Partial<Record<CommonsenseName | HardName | 'plan', string>>;
}

const commonsense: Record<CommonsenseName, Constraint> = {
  within_current_city: withinCurrentCity,
  within_sandbox: withinSandbox,
  reasonable_city_route: reasonableCityRoute,
  diverse_restaurants: diverseRestaurants,
  non_conflicting_transportation: nonConflictingTransportation,
  diverse_attractions: diverseAttractions,
  minimum_nights_stay: minimumNightsStay,
  complete_information: completeInformation,
};

const hard: Record<HardName, Constraint> = {
  budget,
  room_rule: roomRule,
  cuisine,
  room_type: roomType,
  transportation,
};

/** Which hard constraints a query asks for; always the budget. */
export function requestedConstraints({ local_constraint: constraints }: Query): Record<HardName, boolean> {
  return {
    budget: true,
    room_rule: constraints['house rule'] !== null,
    cuisine: (constraints.cuisine ?? []).length > 0,
    room_type: constraints['room type'] !== null,
    transportation: constraints.transportation !== null,
  };
}

/**
 * The official evaluation of a plan (evaluation/eval.py of OSU-NLP-Group/TravelPlanner), its quirks included:
 * see README.md. Hard constraints are evaluated only if the plan is complete and within the sandbox. A plan
 * that crashes the official code counts as delivered and passes nothing.
 *
 * @param plan entries of days as the model wrote them; null or empty if it delivered none
 */
export function officialVerdict(
  query: Query,
  plan: readonly unknown[] | null,
  sandbox: Sandbox,
): PlanVerdict {
  if (plan === null || plan.length === 0)
    return {
      delivered: false,
      commonsense: null,
      hard: null,
      passes: false,
      why: { plan: 'no plan was delivered' },
    };
  try {
    return evaluatePlan({ query, days: readDays(plan, query.days), sandbox });
  } catch (error) {
    if (!(error instanceof MalformedPlan)) throw error;
    return malformedVerdict(error.message);
  }
}

/** The verdict on a plan that cannot be evaluated: it is delivered, and keeps no constraint. */
export const malformedVerdict = (problem: string): PlanVerdict => ({
  delivered: true,
  commonsense: Object.fromEntries(commonsenseNames.map((name) => [name, false])) as Record<
    CommonsenseName,
    boolean
  >,
  hard: null,
  passes: false,
  why: { plan: problem },
});

function evaluatePlan(plan: Delivered): PlanVerdict {
  const commonsenseResults = commonsenseNames.map((name) => [name, commonsense[name](plan)] as const);
  const broken = new Map<string, string | null>(commonsenseResults);
  const requested = requestedConstraints(plan.query);
  const isEvaluated = broken.get('complete_information') === null && broken.get('within_sandbox') === null;
  const hardResults = isEvaluated
    ? hardNames.filter((name) => requested[name]).map((name) => [name, hard[name](plan)] as const)
    : [];
  const all = [...commonsenseResults, ...hardResults];
  return {
    delivered: true,
    commonsense: Object.fromEntries(commonsenseResults.map(([name, why]) => [name, why === null])) as Record<
      CommonsenseName,
      boolean
    >,
    hard: isEvaluated
      ? ({
          ...Object.fromEntries(hardNames.map((name) => [name, null])),
          ...Object.fromEntries(hardResults.map(([name, why]) => [name, why === null])),
        } as Record<HardName, boolean | null>)
      : null,
    passes: isEvaluated && all.every(([, why]) => why === null),
    why: Object.fromEntries(all.filter(([, why]) => why !== null)),
  };
}
