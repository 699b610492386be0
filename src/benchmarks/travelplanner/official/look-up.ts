import { beforeParenthesis, fromTo, MalformedPlan, nameAndCity, requiredText } from '../data/plan.ts';
import type { DayPlan } from '../data/plan.ts';
import type { Accommodation, Attraction, Flight, Restaurant, Sandbox } from '../data/sandbox.ts';

/** Rows in the city whose name CONTAINS the given one: the official evaluation takes the first. */
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
 * Origin and destination of transportation: from its own text, or else from the day's current_city; null if
 * neither says.
 */
export function transportationRoute(
  transportation: string,
  day: DayPlan,
  number: number,
): [from: string, to: string] | null {
  const way = fromTo(transportation) ?? fromTo(requiredText(day, 'current_city', number));
  return way && [beforeParenthesis(way[0]), beforeParenthesis(way[1])];
}

/**
 * The row of a flight on its route, of any date. @throws MalformedPlan for a flight whose number is not after
 * `Flight Number: `
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
