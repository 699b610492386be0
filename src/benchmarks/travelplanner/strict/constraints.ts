import { isFilled, nameAndCity } from '../data/plan.ts';
import type { DayPlan } from '../data/plan.ts';
import { drivingCost } from '../data/sandbox.ts';
import type { Accommodation, Attraction, Restaurant, Sandbox, Vehicle } from '../data/sandbox.ts';
import { citiesOf } from '../official/commonsense.ts';
import { meals } from '../official/constraint.ts';
import type { CommonsenseName, Constraint, Delivered, HardName } from '../official/constraint.ts';

/** Checks for what the official constraints of these names let pass, and a reward should not. */
export const strictConstraints: Partial<Record<CommonsenseName | HardName, Constraint>> = {
  within_current_city: withinCurrentCity,
  within_sandbox: withinSandbox,
  reasonable_city_route: continuousRoute,
  diverse_restaurants: ({ days }) => (isDiverse(days.flatMap(mealTexts)) ? null : 'a restaurant is repeated'),
  diverse_attractions: ({ days }) =>
    isDiverse(days.flatMap(attractionTexts)) ? null : 'an attraction is repeated',
  non_conflicting_transportation: compatibleVehicles,
  minimum_nights_stay: minimumNights,
  budget,
  transportation,
};

/** Cities must be equal, and transportation is for days that go from one to another. */
function withinCurrentCity({ days }: Delivered): string | null {
  for (const [index, day] of days.entries()) {
    const cities = citiesOf(day, index + 1);
    const elsewhere = [...mealTexts(day), ...attractionTexts(day)].find(
      (text) => !cities.includes(nameAndCity(text).city),
    );
    if (elsewhere !== undefined) return `${elsewhere} is in another city than day ${index + 1}`;
    if (isFilled(day.accommodation) && nameAndCity(day.accommodation).city !== cities.at(-1))
      return `accommodation of day ${index + 1} is in another city`;
    if (isFilled(day.transportation) !== (cities.length === 2))
      return `transportation of day ${index + 1} does not fit its cities`;
  }
  return null;
}

/** Names must be equal, a flight is on its day and route, and the last attraction counts too. */
function withinSandbox(plan: Delivered): string | null {
  const { days, sandbox } = plan;
  for (const [index, day] of days.entries()) {
    const cities = citiesOf(day, index + 1);
    if (
      cities.length === 2 &&
      isFilled(day.transportation) &&
      wayCost(plan, day.transportation, cities, index) === null
    )
      return `transportation of day ${index + 1} is not in the sandbox`;
    const unknown =
      mealTexts(day).find((text) => findRestaurant(sandbox, text) === undefined) ??
      attractionTexts(day).find((text) => findAttraction(sandbox, text) === undefined);
    if (unknown !== undefined) return `${unknown} is not in the sandbox`;
    if (isFilled(day.accommodation) && findAccommodation(sandbox, day.accommodation) === undefined)
      return `accommodation of day ${index + 1} is not in the sandbox`;
  }
  return null;
}

/** The first day leaves home, and a day starts where the one before ended. */
function continuousRoute({ query, days }: Delivered): string | null {
  const route = days.map((day, index) => citiesOf(day, index + 1));
  if (route[0]![0] !== query.org) return `the first day does not start in ${query.org}`;
  const broken = route.findIndex((cities, index) => index > 0 && cities[0] !== route[index - 1]!.at(-1));
  return broken < 0 ? null : `day ${broken + 1} does not start where day ${broken} ended`;
}

/** Transportation is what its text begins with: the official code looks for "taxi" in all of it first. */
function compatibleVehicles({ days }: Delivered): string | null {
  const kinds = days.flatMap(({ transportation: text }) => (isFilled(text) ? [wayKind(text)] : []));
  return kinds.includes('self-driving') && (kinds.includes('flight') || kinds.includes('taxi'))
    ? 'transportation is conflicting'
    : null;
}

function minimumNights({ days, sandbox }: Delivered): string | null {
  for (let at = 0; at < days.length;) {
    const start = at;
    const text = days[start]!.accommodation!;
    while (at < days.length && days[at]!.accommodation === text) at++;
    const minimum = isFilled(text) ? (findAccommodation(sandbox, text)?.['minimum nights'] ?? 0) : 0;
    if (at - start < minimum) return `${text} takes guests for ${minimum} nights or more`;
  }
  return null;
}

function budget(plan: Delivered): string | null {
  const { query, days, sandbox } = plan;
  const people = query.people_number;
  const costs = days.flatMap((day, index) => {
    const cities = citiesOf(day, index + 1);
    const isTravelled = cities.length === 2 && isFilled(day.transportation);
    const way = isTravelled ? (wayCost(plan, day.transportation, cities, index) ?? 0) : 0;
    const room = isFilled(day.accommodation) ? findAccommodation(sandbox, day.accommodation) : undefined;
    const night = room === undefined ? 0 : room.price * Math.ceil(people / room['maximum occupancy']);
    const meals = mealTexts(day).map((text) => findRestaurant(sandbox, text)?.['Average Cost'] ?? 0);
    return [way, night, ...meals.map((price) => price * people)];
  });
  const cost = costs.reduce((sum, part) => sum + part, 0);
  return cost <= query.budget ? null : `it costs ${cost}, more than ${query.budget}`;
}

/**
 * Ignores case: the sandbox itself writes `self-driving`, which the official code lets pass even if it is
 * forbidden.
 */
function transportation({ query, days }: Delivered): string | null {
  const refused = query.local_constraint.transportation?.replace(/^no /u, '');
  return refused !== undefined && days.some((day) => day.transportation?.toLowerCase().includes(refused))
    ? `there is a ${refused}`
    : null;
}

const isDiverse = (texts: readonly string[]): boolean =>
  new Set(texts.map((text) => JSON.stringify(nameAndCity(text)))).size === texts.length;

/** The first row in the city with exactly the given name. */
export const findRestaurant = (sandbox: Sandbox, text: string): Restaurant | undefined =>
  sandbox.restaurants(nameAndCity(text).city).find((row) => row.Name.trim() === nameAndCity(text).name);

export const findAccommodation = (sandbox: Sandbox, text: string): Accommodation | undefined =>
  sandbox.accommodations(nameAndCity(text).city).find((row) => row.NAME.trim() === nameAndCity(text).name);

export const findAttraction = (sandbox: Sandbox, text: string): Attraction | undefined =>
  sandbox.attractions(nameAndCity(text).city).find((row) => row.Name.trim() === nameAndCity(text).name);

export const mealTexts = (day: DayPlan): string[] => meals.map((meal) => day[meal]).filter(isFilled);

/** All attractions of a day, with or without a semicolon after them. */
export function attractionTexts(day: DayPlan): string[] {
  if (!isFilled(day.attraction)) return [];
  return day.attraction
    .split(';')
    .map((text) => text.trim())
    .filter((text) => text !== '');
}

/**
 * What a day's transportation from one city to another costs all people, in dollars; null if the database has
 * no such transportation on that day.
 */
function wayCost(
  { query, sandbox }: Delivered,
  text: string,
  [from, to]: readonly [string, string],
  dayIndex: number,
): number | null {
  const date = query.date[dayIndex] ?? '';
  const people = query.people_number;
  const number = flightNumber(text);
  if (number !== undefined) {
    const flight = sandbox
      .flights(from, to)
      .find((row) => row['Flight Number'] === number && row.FlightDate === date);
    return flight === undefined ? null : flight.Price * people;
  }
  const vehicle = roadVehicle(text);
  if (vehicle === undefined) return null;
  const cost = drivingCost(sandbox.distance(from, to), vehicle);
  return cost === null ? null : cost * Math.ceil(people / (vehicle === 'taxi' ? 4 : 5));
}

const flightNumber = (text: string): string | undefined => /^Flight Number: ([^,]+),/u.exec(text)?.[1];

const roadVehicle = (text: string): Vehicle | undefined =>
  /^(self-driving|taxi)\b/iu.exec(text)?.[1]?.toLowerCase() as Vehicle | undefined;

const wayKind = (text: string): Vehicle | 'flight' | undefined =>
  flightNumber(text) === undefined ? roadVehicle(text) : 'flight';
