import { nameAndCity } from '../data/names.ts';
import { isFilled } from '../data/plan.ts';
import type { Accommodation } from '../data/sandbox.ts';
import { meals } from './constraint.ts';
import type { Constraint, Delivered } from './constraint.ts';
import { totalCost } from './cost.ts';
import { accommodationsNamed, restaurantsNamed } from './look-up.ts';

export const budget: Constraint = (plan) => {
  const cost = totalCost(plan);
  return cost <= plan.query.budget ? null : `it costs ${cost}, more than ${plan.query.budget}`;
};

/** No room forbids what must be allowed. */
export const roomRule: Constraint = (plan) => {
  const rule = plan.query.local_constraint['house rule'];
  return roomsOf(plan).some((room) => room.house_rules.includes(`No ${rule}`))
    ? `a room does not allow ${rule}`
    : null;
};

export const roomType: Constraint = (plan) => {
  const wanted = plan.query.local_constraint['room type'];
  return roomsOf(plan).every((room) => fits(room['room type'], wanted)) ? null : `a room is not: ${wanted}`;
};

/** Every cuisine is had once. A meal in the city of departure ends what is looked at of its day. */
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

function roomsOf({ days, sandbox }: Delivered): Accommodation[] {
  return days
    .map((day) => day.accommodation)
    .filter(isFilled)
    .flatMap((text) => accommodationsNamed(sandbox, text).slice(0, 1));
}

function fits(type: string, wanted: string | null): boolean {
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
