import { isFilled, nameAndCity } from '../data/plan.ts';
import type { DayPlan } from '../data/plan.ts';
import { drivingCost } from '../data/sandbox.ts';
import type { Accommodation } from '../data/sandbox.ts';
import { meals } from './constraint.ts';
import type { Constraint, Delivered } from './constraint.ts';
import { accommodationsNamed, flightNamed, restaurantsNamed, transportationRoute } from './look-up.ts';

export const budget: Constraint = (plan) => {
  const cost = totalCost(plan);
  return cost <= plan.query.budget ? null : `it costs ${cost}, more than ${plan.query.budget}`;
};

/** No room forbids what must be allowed. */
export const roomRule: Constraint = (plan) => {
  const rule = plan.query.local_constraint['house rule'];
  return bookedRooms(plan).some((room) => room.house_rules.includes(`No ${rule}`))
    ? `a room does not allow ${rule}`
    : null;
};

export const roomType: Constraint = (plan) => {
  const wanted = plan.query.local_constraint['room type'];
  return bookedRooms(plan).every((room) => fitsRoomType(room['room type'], wanted))
    ? null
    : `a room is not: ${wanted}`;
};

/** Every cuisine occurs once. A meal in the city of departure ends the check of its day. */
export const cuisine: Constraint = ({ query, days, sandbox }) => {
  const had = new Set<string>();
  for (const day of days) {
    for (const text of meals.map((meal) => day[meal]).filter(isFilled)) {
      if (nameAndCity(text).city === query.org) break;
      const cuisines = restaurantsNamed(sandbox, text)[0]?.Cuisines ?? '';
      for (const wanted of query.local_constraint.cuisine ?? [])
        if (cuisines.includes(wanted)) had.add(wanted);
    }
  }
  const lacking = query.local_constraint.cuisine?.find((wanted) => !had.has(wanted));
  return lacking === undefined ? null : `there is no ${lacking} meal`;
};

export const transportation: Constraint = ({ query, days }) => {
  const refused = { 'no flight': 'Flight', 'no self-driving': 'Self-driving' }[
    query.local_constraint.transportation ?? ''
  ];
  return refused !== undefined && days.some((day) => day.transportation?.includes(refused))
    ? `there is a ${refused.toLowerCase()}`
    : null;
};

function bookedRooms({ days, sandbox }: Delivered): Accommodation[] {
  return days
    .map((day) => day.accommodation)
    .filter(isFilled)
    .flatMap((text) => accommodationsNamed(sandbox, text).slice(0, 1));
}

function fitsRoomType(type: string, wanted: string | null): boolean {
  switch (wanted) {
    case 'not shared room':
      return type !== 'Shared room';
    case 'shared room':
      return type === 'Shared room';
    case 'private room':
      return type === 'Private room';
    case 'entire room':
      return type === 'Entire home/apt';
    default:
      return true;
  }
}

/**
 * What a plan costs, in dollars, for all people: flights and meals for each; self-driving in cars of five, a
 * taxi in cars of four; rooms by their maximum occupancy, every day. What is not in the database costs
 * nothing, nor do attractions.
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
  const way = transportationRoute(day.transportation, day, number);
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
