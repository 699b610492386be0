import { MalformedPlan, isFilled, required } from '../data/plan.ts';
import type { DayPlan } from '../data/plan.ts';
import { drivingCost } from '../data/sandbox.ts';
import type { Sandbox } from '../data/sandbox.ts';
import { meals } from './constraint.ts';
import type { Constraint } from './constraint.ts';
import { attractionsOf } from './diversity.ts';
import { accommodationsNamed, attractionsNamed, flightNamed, restaurantsNamed, wayOf } from './look-up.ts';

/** Nothing is made up: all that the plan names is in the database. */
export const withinSandbox: Constraint = ({ days, sandbox }) => {
  for (const [index, day] of days.entries()) {
    if (!isTransportationKnown(sandbox, day, index + 1))
      return `transportation of day ${index + 1} is not in the sandbox`;
    for (const meal of meals) {
      const text = day[meal];
      if (isFilled(text) && restaurantsNamed(sandbox, text).length === 0)
        return `${meal} of day ${index + 1} is not in the sandbox`;
    }
    if (attractionsOf(day.attraction).some((text) => attractionsNamed(sandbox, text).length === 0))
      return `an attraction of day ${index + 1} is not in the sandbox`;
    if (isFilled(day.accommodation) && accommodationsNamed(sandbox, day.accommodation).length === 0)
      return `accommodation of day ${index + 1} is not in the sandbox`;
  }
  return null;
};

/** Transportation that is neither flight nor car is taken as it is. */
function isTransportationKnown(sandbox: Sandbox, day: DayPlan, number: number): boolean {
  const text = required(day, 'transportation', number);
  if (!isFilled(text)) return true;
  const way = wayOf(text, day, number);
  const lower = text.toLowerCase();
  if (lower.includes('flight number')) {
    if (way === null)
      throw new MalformedPlan(`the flight of day ${number} says neither from where nor to where`);
    return flightNamed(sandbox, text, way) !== undefined;
  }
  if (!lower.includes('self-driving') && !lower.includes('taxi')) return true;
  return (
    way !== null &&
    drivingCost(sandbox.distance(...way), lower.includes('self-driving') ? 'self-driving' : 'taxi') !== null
  );
}
