import { isFilled, nameAndCity } from '../data/plan.ts';
import type { DayPlan } from '../data/plan.ts';
import { drivingCost } from '../data/sandbox.ts';
import type { Accommodation, Attraction, Restaurant, Sandbox } from '../data/sandbox.ts';
import { meals } from '../official/constraint.ts';

/** The row with the very name given, in its city: the first of several. */
export const restaurantOf = (sandbox: Sandbox, text: string): Restaurant | undefined =>
  sandbox.restaurants(nameAndCity(text).city).find((row) => row.Name.trim() === nameAndCity(text).name);

export const accommodationOf = (sandbox: Sandbox, text: string): Accommodation | undefined =>
  sandbox.accommodations(nameAndCity(text).city).find((row) => row.NAME.trim() === nameAndCity(text).name);

export const attractionOf = (sandbox: Sandbox, text: string): Attraction | undefined =>
  sandbox.attractions(nameAndCity(text).city).find((row) => row.Name.trim() === nameAndCity(text).name);

export const mealsOf = (day: DayPlan): string[] => meals.map((meal) => day[meal]).filter(isFilled);

/** All attractions of a day, followed by a semicolon or not. */
export function attractionTexts(day: DayPlan): string[] {
  if (!isFilled(day.attraction)) return [];
  return day.attraction
    .split(';')
    .map((text) => text.trim())
    .filter((text) => text !== '');
}

/**
 * What a way costs by the transportation given, for so many people, in dollars; null where the database has
 * no such transportation on that day.
 */
export function wayCost(
  sandbox: Sandbox,
  text: string,
  [from, to]: readonly [string, string],
  date: string,
  people: number,
): number | null {
  const number = /^Flight Number: ([^,]+),/u.exec(text)?.[1];
  if (number !== undefined) {
    const flight = sandbox
      .flights(from, to)
      .find((row) => row['Flight Number'] === number && row.FlightDate === date);
    return flight === undefined ? null : flight.Price * people;
  }
  const vehicle = /^self-driving\b/iu.test(text) ? 'self-driving' : /^taxi\b/iu.test(text) ? 'taxi' : null;
  const cost = vehicle && drivingCost(sandbox.distance(from, to), vehicle);
  return cost === null ? null : cost * Math.ceil(people / (vehicle === 'taxi' ? 4 : 5));
}
