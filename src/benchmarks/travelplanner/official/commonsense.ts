import {
  beforeParenthesis,
  dayFields,
  fromTo,
  isFilled,
  MalformedPlan,
  required,
  requiredText,
} from '../data/plan.ts';
import type { DayField, DayPlan } from '../data/plan.ts';
import { drivingCost } from '../data/sandbox.ts';
import type { Sandbox } from '../data/sandbox.ts';
import { meals } from './constraint.ts';
import type { Constraint, Delivered } from './constraint.ts';
import {
  accommodationsNamed,
  attractionsNamed,
  flightNamed,
  restaurantsNamed,
  transportationRoute,
} from './look-up.ts';

const notNeeded = "You don't need to fill in the information for this or later days.";

/**
 * The requested number of days and cities, every field, every entry that a day needs, and at least half of
 * the possible entries.
 */
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
    const missing = findMissingEntry(day, index === query.days - 1);
    if (missing !== null) return `day ${index + 1} has no ${missing}`;
  }
  const entries = days.reduce((sum, day) => sum + day.entries, 0);
  return entries / (6 * query.days) < 0.5 ? 'more than half of the information is absent' : null;
};

/** Null counts as filled: the official evaluation looks for empty texts and dashes. */
function findMissingEntry(day: DayPlan, isLast: boolean): string | null {
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

/**
 * Where a day is spent: a city, or two if it goes from one to another. @throws MalformedPlan if current_city
 * says neither
 */
export function citiesOf(day: DayPlan, number: number): [string] | [from: string, to: string] {
  const text = requiredText(day, 'current_city', number);
  if (!text.includes('from')) return [beforeParenthesis(text)];
  const way = fromTo(text);
  if (way === null) throw new MalformedPlan(`current_city of day ${number} says "from" and not where to`);
  return [beforeParenthesis(way[0]), beforeParenthesis(way[1])];
}

/** Only the first day's start is compared with the query; for other days the sequence of cities decides. */
export function startsElsewhere({ query, days }: Delivered): boolean {
  const [start, end] = citiesOf(days[0]!, 1);
  return end !== undefined && start !== query.org;
}

/**
 * The trip starts in the right city, is a closed circle, visits each city once and for more than a moment,
 * and stays in the requested state.
 */
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

/** No restaurant twice, by its text. */
export const diverseRestaurants: Constraint = ({ days }) => {
  const eaten = days.flatMap((day) => meals.map((meal) => day[meal]).filter(isFilled));
  const repeated = firstRepeated(eaten);
  return repeated === undefined ? null : `the restaurant ${repeated} is repeated`;
};

/** No attraction twice, by its text. */
export const diverseAttractions: Constraint = ({ days }) => {
  const repeated = firstRepeated(days.flatMap((day) => checkedAttractions(day.attraction)));
  return repeated === undefined ? null : `the attraction ${repeated} is repeated`;
};

/** The attractions that the official evaluation checks: those followed by a semicolon. */
export function checkedAttractions(text: string | null | undefined): string[] {
  return isFilled(text) ? text.split(';').slice(0, -1) : [];
}

/** There is transportation on the first day, and never self-driving together with a flight or a taxi. */
export const nonConflictingTransportation: Constraint = ({ days }) => {
  if (!isFilled(required(days[0]!, 'transportation', 1))) return 'there is no transportation on day 1';
  const kinds = new Set(
    days
      .map((day) => day.transportation)
      .filter(isFilled)
      .map(vehicleOf),
  );
  return kinds.has('self-driving') && (kinds.has('flight') || kinds.has('taxi'))
    ? 'transportation is conflicting'
    : null;
};

function vehicleOf(text: string): string | undefined {
  const lower = text.toLowerCase();
  return ['taxi', 'self-driving', 'flight'].find((kind) => lower.includes(kind));
}

function firstRepeated(texts: readonly string[]): string | undefined {
  const seen = new Set<string>();
  return texts.find((text) => seen.size === seen.add(text).size);
}

/** Consecutive nights reach the accommodation's minimum, unless several accommodations match the name. */
export const minimumNightsStay: Constraint = ({ days, sandbox }) => {
  const missing = days.findIndex((day) => day.accommodation === undefined);
  if (missing >= 0) return `day ${missing + 1} has no accommodation`;
  for (let at = 0; at < days.length;) {
    const start = at;
    while (at < days.length && days[at]!.accommodation === days[start]!.accommodation) at++;
    const text = requiredText(days[start]!, 'accommodation', start + 1);
    if (text === '' || text === '-') continue;
    const [accommodation, ...otherMatches] = accommodationsNamed(sandbox, text);
    if (
      accommodation !== undefined &&
      otherMatches.length === 0 &&
      at - start < accommodation['minimum nights']
    )
      return `${text} takes guests for ${accommodation['minimum nights']} nights or more`;
  }
  return null;
};

/**
 * Places of a day are in a city of that day: transportation in all of them, meals and attractions in one,
 * accommodation in the last. The official evaluation takes a day with one city for a list of the letters of
 * its name: almost any text holds one of them, so only transportation (every letter) and accommodation (the
 * last letter) can break the constraint there.
 */
export const withinCurrentCity: Constraint = ({ days }) => {
  for (const [index, day] of days.entries()) {
    const dayCities = citiesOf(day, index + 1);
    const cities = dayCities.length === 2 ? dayCities : [...dayCities[0]];
    const isInCities = (text: string): boolean => cities.some((city) => text.includes(city));
    const { transportation, accommodation } = day;
    if (isFilled(transportation) && !cities.every((city) => transportation.includes(city)))
      return `transportation of day ${index + 1} is in another city`;
    for (const meal of meals) {
      const text = day[meal];
      if (isFilled(text) && !isInCities(text)) return `${meal} of day ${index + 1} is in another city`;
    }
    if (!checkedAttractions(day.attraction).every(isInCities))
      return `an attraction of day ${index + 1} is in another city`;
    if (isFilled(accommodation)) {
      const last = cities.at(-1);
      if (last === undefined) throw new MalformedPlan(`current_city of day ${index + 1} is empty`);
      if (!accommodation.includes(last)) return `accommodation of day ${index + 1} is in another city`;
    }
  }
  return null;
};

/** Everything that the plan names is in the database. */
export const withinSandbox: Constraint = ({ days, sandbox }) => {
  for (const [index, day] of days.entries()) {
    if (!isTransportationKnown(sandbox, day, index + 1))
      return `transportation of day ${index + 1} is not in the sandbox`;
    for (const meal of meals) {
      const text = day[meal];
      if (isFilled(text) && restaurantsNamed(sandbox, text).length === 0)
        return `${meal} of day ${index + 1} is not in the sandbox`;
    }
    if (checkedAttractions(day.attraction).some((text) => attractionsNamed(sandbox, text).length === 0))
      return `an attraction of day ${index + 1} is not in the sandbox`;
    if (isFilled(day.accommodation) && accommodationsNamed(sandbox, day.accommodation).length === 0)
      return `accommodation of day ${index + 1} is not in the sandbox`;
  }
  return null;
};

/** Transportation that is neither flight nor car is accepted. */
function isTransportationKnown(sandbox: Sandbox, day: DayPlan, number: number): boolean {
  const text = required(day, 'transportation', number);
  if (!isFilled(text)) return true;
  const way = transportationRoute(text, day, number);
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
