import { isFilled } from '../data/plan.ts';
import type { DayPlan } from '../data/plan.ts';
import { drivingCost } from '../data/sandbox.ts';
import { meals } from './constraint.ts';
import type { Delivered } from './constraint.ts';
import { accommodationsNamed, flightNamed, restaurantsNamed, wayOf } from './look-up.ts';

/**
 * What a plan costs, in dollars, for all people: flights and meals for each; self-driving in cars of five, a taxi in cars of four; rooms by
 * their maximum occupancy, every day. What the database does not have costs nothing, and attractions never do.
 */
export function totalCost(plan: Delivered): number {
  return plan.days.reduce(
    (sum, day, index) =>
      sum + transportationCost(day, index + 1, plan) + mealsCost(day, plan) + accommodationCost(day, plan),
    0,
  );
}

function transportationCost(
  day: DayPlan,
  number: number,
  { query: { people_number: people }, sandbox }: Delivered,
): number {
  if (!isFilled(day.transportation)) return 0;
  const way = wayOf(day.transportation, day, number);
  if (way === null) return 0;
  const lower = day.transportation.toLowerCase();
  if (lower.includes('flight number'))
    return (flightNamed(sandbox, day.transportation, way)?.Price ?? 0) * people;
  if (lower.includes('self-driving'))
    return (drivingCost(sandbox.distance(...way), 'self-driving') ?? 0) * Math.ceil(people / 5);
  if (lower.includes('taxi'))
    return (drivingCost(sandbox.distance(...way), 'taxi') ?? 0) * Math.ceil(people / 4);
  return 0;
}

function mealsCost(day: DayPlan, { query, sandbox }: Delivered): number {
  const eaten = meals.map((meal) => day[meal]).filter(isFilled);
  return eaten.reduce(
    (sum, text) => sum + (restaurantsNamed(sandbox, text)[0]?.['Average Cost'] ?? 0) * query.people_number,
    0,
  );
}

function accommodationCost(day: DayPlan, { query, sandbox }: Delivered): number {
  const room = isFilled(day.accommodation) ? accommodationsNamed(sandbox, day.accommodation)[0] : undefined;
  return room === undefined ? 0 : room.price * Math.ceil(query.people_number / room['maximum occupancy']);
}
