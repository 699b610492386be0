import { route } from '../../benchmarks/travelplanner/data/sandbox.ts';
import { strictVerdict } from '../../benchmarks/travelplanner/strict/strict-verdict.ts';
import { benchmarkQuery, buildSandbox } from './sandbox.ts';
import type { Information, TravelTask } from './task-schema.ts';

const DAY_MS = 86_400_000;

/**
 * Why a task is invalid: its parts contradict each other, or its own plan fails; undefined if it is valid.
 */
export function validateTravelTask(task: TravelTask): string | undefined {
  const { query, information, plan } = task;
  const start = Date.parse(query.date[0]!);
  if (
    query.date.length !== query.days ||
    query.date.some((date, index) => Date.parse(date) !== start + index * DAY_MS)
  )
    return 'wrong_dates';
  if (hasUnknownCity(task)) return 'unknown_city';
  if (tables(information).some(hasAmbiguousNames)) return 'ambiguous_name';
  if (hasRepeatedRows(information)) return 'repeated_row';
  if (plan.length !== query.days || plan.some(({ days }, index) => days !== index + 1)) return 'plan_fails';
  return strictVerdict(benchmarkQuery(task), plan, buildSandbox(information)).passes
    ? undefined
    : 'plan_fails';
}

/**
 * A trip of up to three days may know no city but its destination: the benchmark does not check where such a
 * trip goes.
 */
function hasUnknownCity({
  query: { org, dest, days },
  information: { cities, flights, distances, ...places },
}: TravelTask): boolean {
  const cityNames = new Set(cities.map(({ city }) => city));
  const named = [
    org,
    ...flights.flatMap((row) => [row.OriginCityName, row.DestCityName]),
    ...distances.flatMap(({ origin, destination }) => [origin, destination]),
    ...tables(places)
      .flat()
      .map(({ city }) => city),
  ];
  if (cityNames.size !== cities.length || !named.every((city) => cityNames.has(city))) return true;
  return days <= 3
    ? dest === org || cityNames.size !== 2 || !cityNames.has(dest)
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
  rows.some((row, at) =>
    rows.some(
      (candidate, index) => index !== at && candidate.city === row.city && candidate.name.includes(row.name),
    ),
  );

/** Two rows of one way or flight could differ, and the prompt and the verdict could use different ones. */
const hasRepeatedRows = ({ flights, distances }: Information): boolean =>
  new Set(flights.map((row) => row['Flight Number'])).size < flights.length ||
  new Set(distances.map((way) => route(way.origin, way.destination))).size < distances.length;
