import { strictVerdict } from '../../benchmarks/travelplanner/strict/strict-verdict.ts';
import { queryOf, sandboxOf } from './sandbox.ts';
import type { Information, TravelTask } from './task-schema.ts';

const day = 86_400_000;

/**
 * Why a task is none: its parts contradict each other, or its own plan fails; undefined where it can be
 * solved.
 */
export function taskFault(task: TravelTask): string | undefined {
  const { query, information, plan } = task;
  const start = Date.parse(query.date[0]!);
  if (
    query.date.length !== query.days ||
    query.date.some((date, index) => Date.parse(date) !== start + index * day)
  )
    return 'wrong_dates';
  if (isUnknown(task)) return 'unknown_city';
  if (tables(information).some(hasAmbiguousNames)) return 'ambiguous_name';
  if (plan.length !== query.days || plan.some(({ days }, index) => days !== index + 1)) return 'plan_fails';
  return strictVerdict(queryOf(task), plan, sandboxOf(information)).passes ? undefined : 'plan_fails';
}

/**
 * A trip of up to three days goes to one city and has no other to go to: the benchmark does not check there
 * where it goes.
 */
function isUnknown({
  query: { org, dest, days },
  information: { cities, flights, distances, ...places },
}: TravelTask): boolean {
  const known = new Set(cities.map(({ city }) => city));
  const named = [
    org,
    ...flights.flatMap((row) => [row.OriginCityName, row.DestCityName]),
    ...distances.flatMap(({ origin, destination }) => [origin, destination]),
    ...tables(places)
      .flat()
      .map(({ city }) => city),
  ];
  if (known.size !== cities.length || !named.every((city) => known.has(city))) return true;
  return days <= 3
    ? dest === org || known.size !== 2 || !known.has(dest)
    : !cities.some(({ city, state }) => state === dest && city !== org);
}

const tables = ({
  restaurants,
  accommodations,
  attractions,
}: Pick<Information, 'restaurants' | 'accommodations' | 'attractions'>): {
  name: string;
  city: string;
}[][] => [
  restaurants.map(({ Name, City }) => ({ name: Name, city: City })),
  accommodations.map(({ NAME, city }) => ({ name: NAME, city })),
  attractions.map(({ Name, City }) => ({ name: Name, city: City })),
];

/** The benchmark finds rows by a part of their names. */
const hasAmbiguousNames = (rows: readonly { name: string; city: string }[]): boolean =>
  rows.some((one, at) =>
    rows.some((other, index) => index !== at && other.city === one.city && other.name.includes(one.name)),
  );
