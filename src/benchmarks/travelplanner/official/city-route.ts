import { beforeParenthesis, fromTo } from '../data/names.ts';
import { MalformedPlan, requiredText } from '../data/plan.ts';
import type { DayPlan } from '../data/plan.ts';
import type { Constraint, Delivered } from './constraint.ts';

/** Where a day is spent: a city, or two where it goes from one to another. @throws MalformedPlan where current_city says neither */
export function citiesOf(day: DayPlan, number: number): [string] | [from: string, to: string] {
  const text = requiredText(day, 'current_city', number);
  if (!text.includes('from')) return [beforeParenthesis(text)];
  const way = fromTo(text);
  if (way === null) throw new MalformedPlan(`current_city of day ${number} says "from" and not where to`);
  return [beforeParenthesis(way[0]), beforeParenthesis(way[1])];
}

/** Where a day other than the first starts is not compared with where the one before ended: the sequence of cities decides. */
export function startsElsewhere({ query, days }: Delivered): boolean {
  const [start, end] = citiesOf(days[0]!, 1);
  return end !== undefined && start !== query.org;
}

/** Starts where it is asked to, is a closed circle, visits each city once and for more than a moment, and stays in the state asked for. */
export const reasonableCityRoute: Constraint = (plan) => {
  const { query, days, sandbox } = plan;
  if (startsElsewhere(plan)) return `the first day does not start in ${query.org}`;
  const cities = days.flatMap((day, index) => citiesOf(day, index + 1));
  if (cities[0] !== cities.at(-1)) return 'the trip is no closed circle';
  if (!isSequence(cities)) return 'the sequence of cities is invalid';
  for (const [index, city] of cities.entries()) {
    const state = sandbox.state(city);
    if (state === undefined) return `${city} is no city of the database`;
    const between = index !== 0 && index !== cities.length - 1;
    if (between && query.days > 3 && state !== query.dest) return `${city} is not in ${query.dest}`;
  }
  return null;
};

/** Whether every city but the first and last comes at least twice in a row, and in one run only. */
function isSequence(cities: readonly string[]): boolean {
  if (cities.length < 3) return false;
  const visited = new Set<string>();
  for (let at = 0; at < cities.length;) {
    const city = cities[at]!;
    if (visited.has(city) && at !== 0 && at !== cities.length - 1) return false;
    const start = at;
    while (at < cities.length && cities[at] === city) at++;
    if (at - start === 1 && at - 1 > 0 && at - 1 < cities.length - 1) return false;
    visited.add(city);
  }
  return true;
}
