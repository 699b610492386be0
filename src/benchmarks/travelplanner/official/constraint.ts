import type { DayPlan } from '../data/plan.ts';
import type { Sandbox } from '../data/sandbox.ts';
import type { Query } from '../data/task.ts';

/** A delivered plan, and what it is checked against. */
export interface Delivered {
  query: Query;
  /** As many as the plan has of those asked for, and at least one. */
  days: readonly DayPlan[];
  sandbox: Sandbox;
}

/**
 * Why a plan breaks a constraint; null if it keeps it. @throws MalformedPlan if the official evaluation would
 * end with an error
 */
export type Constraint = (plan: Delivered) => string | null;

/** Constraints in the paper's terms and order. */
export const commonsenseNames = [
  'within_current_city',
  'within_sandbox',
  'reasonable_city_route',
  'diverse_restaurants',
  'non_conflicting_transportation',
  'diverse_attractions',
  'minimum_nights_stay',
  'complete_information',
] as const;

export const hardNames = ['budget', 'room_rule', 'cuisine', 'room_type', 'transportation'] as const;

export type CommonsenseName = (typeof commonsenseNames)[number];
export type HardName = (typeof hardNames)[number];

export const meals = ['breakfast', 'lunch', 'dinner'] as const;
