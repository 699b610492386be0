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
  /** A plan was delivered, be it any. */
  delivered: boolean;
  /** Null without a plan. */
  commonsense: Record<CommonsenseName, boolean> | null;
  /**
   * Null where hard constraints are not evaluated; a constraint is null where the query does not ask for it.
   */
  hard: Record<HardName, boolean | null> | null;
  /** All of both groups, as far as they apply. */
  passes: boolean;
  /** Why constraints are broken, each by its name, and `plan` where there is none to evaluate. */
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

/** Which hard constraints a query asks for: the budget always. */
export function asksFor({ local_constraint: asked }: Query): Record<HardName, boolean> {
  return {
    budget: true,
    room_rule: asked['house rule'] !== null,
    cuisine: (asked.cuisine ?? []).length > 0,
    room_type: asked['room type'] !== null,
    transportation: asked.transportation !== null,
  };
}

/**
 * The official evaluation of a plan (evaluation/eval.py of OSU-NLP-Group/TravelPlanner), its quirks included:
 * see README.md. Hard constraints are evaluated only where the plan has complete information and all of it is
 * in the sandbox. A plan at which the official code would end with an error is delivered, and passes nothing.
 *
 * @param plan entries of days as the model wrote them; null or empty where it delivered none
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
    return evaluated({ query, days: readDays(plan, query.days), sandbox });
  } catch (error) {
    if (!(error instanceof MalformedPlan)) throw error;
    const nothing = Object.fromEntries(commonsenseNames.map((name) => [name, false])) as Record<
      CommonsenseName,
      boolean
    >;
    return { delivered: true, commonsense: nothing, hard: null, passes: false, why: { plan: error.message } };
  }
}

function evaluated(plan: Delivered): PlanVerdict {
  const sense = commonsenseNames.map((name) => [name, commonsense[name](plan)] as const);
  const broken = new Map<string, string | null>(sense);
  const asked = asksFor(plan.query);
  const isEvaluated = broken.get('complete_information') === null && broken.get('within_sandbox') === null;
  const strict = isEvaluated
    ? hardNames.filter((name) => asked[name]).map((name) => [name, hard[name](plan)] as const)
    : [];
  const all = [...sense, ...strict];
  return {
    delivered: true,
    commonsense: Object.fromEntries(sense.map(([name, why]) => [name, why === null])) as Record<
      CommonsenseName,
      boolean
    >,
    hard: isEvaluated
      ? ({
          ...Object.fromEntries(hardNames.map((name) => [name, null])),
          ...Object.fromEntries(strict.map(([name, why]) => [name, why === null])),
        } as Record<HardName, boolean | null>)
      : null,
    passes: isEvaluated && all.every(([, why]) => why === null),
    why: Object.fromEntries(all.filter(([, why]) => why !== null)),
  };
}
