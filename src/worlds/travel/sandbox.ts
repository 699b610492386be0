import { drivingCost } from '../../benchmarks/travelplanner/data/sandbox.ts';
import type { Distance, Sandbox } from '../../benchmarks/travelplanner/data/sandbox.ts';
import type { Query } from '../../benchmarks/travelplanner/data/task.ts';
import { sandboxFrom } from '../../benchmarks/travelplanner/data/train-sandbox.ts';
import type { Reference } from '../../benchmarks/travelplanner/data/train-sandbox.ts';
import { queryText } from '../../benchmarks/travelplanner/query-text.ts';
import type { Information, TravelTask } from './task-schema.ts';

/** The sandbox that plans are checked against; columns that no check reads are blank. */
export function buildSandbox({
  cities,
  flights,
  restaurants,
  accommodations,
  attractions,
  distances,
}: Information): Sandbox {
  const tables = {
    flights: flights.map((row) => ({ ...row, ActualElapsedTime: '', Distance: 0 })),
    restaurants: restaurants.map((row) => ({ ...row, 'Aggregate Rating': 0 })),
    accommodations: accommodations.map((row) => ({ ...row, 'review rate number': 0 })),
    attractions: attractions.map((row) => ({
      ...row,
      Latitude: 0,
      Longitude: 0,
      Address: '',
      Phone: '',
      Website: '',
    })),
    distances,
  };
  return sandboxFrom(tables, new Map(cities.map(({ city, state }) => [city, state])));
}

/** The query in the benchmark's format. */
export const benchmarkQuery = ({ query }: TravelTask): Query => ({
  ...query,
  query: queryText(query),
  level: 'easy',
});

/** The same tables in the form of the benchmark's reference information. */
export function referenceInformation(
  { cities, flights, restaurants, accommodations, attractions, distances }: Information,
  days: number,
): Reference {
  const groupByTitle = <Row>(
    rows: readonly Row[],
    title: (row: Row) => string,
  ): [string, readonly Row[]][] => [...Map.groupBy(rows, title)];
  const entries: (readonly [string, Reference[string]])[] = [
    ...(days > 3
      ? [['Cities', cities.map(({ city, state }) => `${city} is in ${state}.`).join(' ')] as const]
      : []),
    ...groupByTitle(attractions, ({ City }) => `Attractions in ${City}`),
    ...groupByTitle(restaurants, ({ City }) => `Restaurants in ${City}`),
    ...groupByTitle(accommodations, ({ city }) => `Accommodations in ${city}`),
    ...groupByTitle(
      flights,
      ({ OriginCityName, DestCityName, FlightDate }) =>
        `Flight from ${OriginCityName} to ${DestCityName} on ${FlightDate}`,
    ),
    ...distances.flatMap(
      (way) =>
        [
          [`Self-driving from ${way.origin} to ${way.destination}`, drivingText(way, 'self-driving')],
          [`Taxi from ${way.origin} to ${way.destination}`, drivingText(way, 'taxi')],
        ] as const,
    ),
  ];
  return Object.fromEntries(entries);
}

/** In the words of the benchmark's tools. */
export function drivingText(way: Distance, vehicle: 'self-driving' | 'taxi'): string {
  const cost = drivingCost(way, vehicle);
  return cost === null
    ? 'No valid information.'
    : `${vehicle}, from ${way.origin} to ${way.destination}, duration: ${way.duration}, distance: ${way.distance}, cost: ${cost}`;
}
