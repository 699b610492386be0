import { dayFields, required } from '../data/plan.ts';
import type { DayField, DayPlan } from '../data/plan.ts';
import { citiesOf, startsElsewhere } from './city-route.ts';
import { meals } from './constraint.ts';
import type { Constraint } from './constraint.ts';

const notNeeded = "You don't need to fill in the information for this or later days.";

/** As many days and cities as asked for, every field there, nothing left out that a day needs, and at least half as much said as could be. */
export const completeInformation: Constraint = (plan) => {
  const { query, days } = plan;
  if (
    days.filter((day, index) => !day.isEmpty && required(day, 'current_city', index + 1) !== notNeeded)
      .length !== query.days
  )
    return `there are not ${query.days} days`;
  if (startsElsewhere(plan)) return `the first day does not start in ${query.org}`;
  const cities = new Set(days.flatMap((day, index) => citiesOf(day, index + 1)));
  cities.delete(query.org);
  if (cities.size !== query.visiting_city_number)
    return `${cities.size} cities are visited, not ${query.visiting_city_number}`;
  for (const [index, day] of days.entries()) {
    const lacking = lacks(day, index === query.days - 1);
    if (lacking !== null) return `day ${index + 1} has no ${lacking}`;
  }
  const entries = days.reduce((sum, day) => sum + day.entries, 0);
  return entries / (6 * query.days) < 0.5 ? 'more than half of the information is absent' : null;
};

/** Null fields lack nothing: the official evaluation looks for empty texts and dashes. */
function lacks(day: DayPlan, isLast: boolean): string | null {
  const missing = dayFields.find((field) => day[field] === undefined);
  if (missing !== undefined) return missing;
  const empty = (field: DayField): boolean => day[field] === '' || day[field] === '-';
  const city = day.current_city!;
  if ((city.includes('from ') || city.includes('to ')) && empty('transportation')) return 'transportation';
  if (!city.includes('from ') && !city.includes(' to ') && empty('attraction')) return 'attraction';
  if (!isLast && empty('accommodation')) return 'accommodation';
  if (!city.includes('from ') && meals.some(empty)) return 'meal';
  return null;
}
