import { canonicalJson } from '../../../store/canonical-json.ts';
import { groupRows, route } from './sandbox.ts';
import type { Accommodation, Attraction, Distance, Flight, Restaurant, Sandbox } from './sandbox.ts';

/**
 * Reference information of a task: a table's rows, or a sentence, by its description (`Restaurants in
 * Rockford`).
 */
export type Reference = Readonly<Record<string, string | readonly Readonly<Record<string, unknown>>[]>>;

export interface Tables {
  flights: Flight[];
  restaurants: Restaurant[];
  accommodations: Accommodation[];
  attractions: Attraction[];
  distances: Distance[];
}

const driving = /^(?:self-driving|taxi), from (.+) to (.+), duration: (.+), distance: (.+), cost: \d+$/u;

/**
 * The tables of the database as far as tasks refer to them: the union of their reference information, each
 * row once, in their order.
 */
export function tablesFrom(references: readonly Reference[]): Tables {
  const entries = references.flatMap((reference) => Object.entries(reference));
  const rows = <Row>(kind: string): Row[] =>
    distinct(
      entries.flatMap(([description, content]) =>
        description.startsWith(kind) && typeof content !== 'string' ? (content as Row[]) : [],
      ),
    );
  return {
    flights: rows('Flight from '),
    restaurants: rows('Restaurants in '),
    accommodations: rows('Accommodations in '),
    attractions: rows('Attractions in '),
    distances: distinct(
      entries.flatMap(([, content]) => (typeof content === 'string' ? drivingDistance(content) : [])),
    ),
  };
}

/** @param states state by city, null if it is not known */
export function sandboxFrom(tables: Tables, states: ReadonlyMap<string, string | null>): Sandbox {
  const flights = groupRows(tables.flights, (row) => route(row.OriginCityName, row.DestCityName));
  const distances = groupRows(tables.distances, (row) => route(row.origin, row.destination));
  return {
    flights: (origin, destination) => flights(route(origin, destination)),
    restaurants: groupRows(tables.restaurants, (row) => row.City),
    accommodations: groupRows(tables.accommodations, (row) => row.city),
    attractions: groupRows(tables.attractions, (row) => row.City),
    distance: (origin, destination) => distances(route(origin, destination))[0],
    state: (city) => states.get(city),
    cities: [...states.keys()],
  };
}

function drivingDistance(sentence: string): Distance[] {
  const [, origin, destination, duration, distance] = driving.exec(sentence) ?? [];
  return distance === undefined
    ? []
    : [{ origin: origin!, destination: destination!, duration: duration!, distance }];
}

function distinct<Row>(rows: readonly Row[]): Row[] {
  return [...new Map(rows.map((row) => [canonicalJson(row), row])).values()];
}
