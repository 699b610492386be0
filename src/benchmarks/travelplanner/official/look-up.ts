import { beforeParenthesis, fromTo, MalformedPlan, nameAndCity, requiredText } from '../data/plan.ts';
import type { DayPlan } from '../data/plan.ts';
import type { Accommodation, Attraction, Flight, Restaurant, Sandbox } from '../data/sandbox.ts';

/** Rows whose name CONTAINS the one given, in its city: the official evaluation takes the first for it. */
export function restaurantsNamed(sandbox: Sandbox, text: string): Restaurant[] {
  const { name, city } = nameAndCity(text);
  return sandbox.restaurants(city).filter((row) => row.Name.includes(name));
}

export function accommodationsNamed(sandbox: Sandbox, text: string): Accommodation[] {
  const { name, city } = nameAndCity(text);
  return sandbox.accommodations(city).filter((row) => row.NAME.includes(name));
}

export function attractionsNamed(sandbox: Sandbox, text: string): Attraction[] {
  const { name, city } = nameAndCity(text);
  return sandbox.attractions(city).filter((row) => row.Name.includes(name));
}

/**
 * Where transportation goes from and to: as it says itself, or else as the day's current_city says; null
 * where neither does.
 */
export function wayOf(
  transportation: string,
  day: DayPlan,
  number: number,
): [from: string, to: string] | null {
  const way = fromTo(transportation) ?? fromTo(requiredText(day, 'current_city', number));
  return way && [beforeParenthesis(way[0]), beforeParenthesis(way[1])];
}

/**
 * The row of a flight on its way, whatever its date. @throws MalformedPlan for a flight whose number is not
 * after `Flight Number: `
 */
export function flightNamed(
  sandbox: Sandbox,
  transportation: string,
  [from, to]: [from: string, to: string],
): Flight | undefined {
  const after = transportation.split('Flight Number: ')[1];
  if (after === undefined)
    throw new MalformedPlan(`a flight's number cannot be read from ${JSON.stringify(transportation)}`);
  const number = after.split(',')[0];
  return sandbox.flights(from, to).find((flight) => flight['Flight Number'] === number);
}
