import { csvRows, isComplete } from './csv.ts';
import { groupRows, route } from './sandbox.ts';
import type { Accommodation, Attraction, Distance, Flight, Restaurant, Sandbox } from './sandbox.ts';

/** Files of the official database, in its folder. */
export const databaseFiles = {
  flights: 'flights/clean_Flights_2022.csv',
  restaurants: 'restaurants/clean_restaurant_2022.csv',
  accommodations: 'accommodations/clean_accommodations_2022.csv',
  attractions: 'attractions/attractions.csv',
  distances: 'googleDistanceMatrix/distance.csv',
  cities: 'background/citySet_with_states.txt',
} as const;

const numbers = new Set([
  'Average Cost',
  'Aggregate Rating',
  'price',
  'minimum nights',
  'maximum occupancy',
  'review rate number',
  'Latitude',
  'Longitude',
]);

const columns = {
  restaurants: ['Name', 'Average Cost', 'Cuisines', 'Aggregate Rating', 'City'],
  accommodations: [
    'NAME',
    'price',
    'room type',
    'house_rules',
    'minimum nights',
    'maximum occupancy',
    'review rate number',
    'city',
  ],
  attractions: ['Name', 'Latitude', 'Longitude', 'Address', 'Phone', 'Website', 'City'],
} as const;

/** The whole sandbox, from the bytes of the official database's files. */
export function databaseSandbox(files: Readonly<Record<keyof typeof databaseFiles, Buffer>>): Sandbox {
  const distances = groupRows(csvRows(files.distances.toString()).map(toDistance), (row) =>
    route(row.origin, row.destination),
  );
  const states = new Map(
    files.cities
      .toString()
      .trim()
      .split(/\r?\n/u)
      .map((text) => text.split('\t') as [city: string, state: string]),
  );
  return {
    flights: flightTable(files.flights),
    restaurants: groupRows(parseTable<Restaurant>(files.restaurants, columns.restaurants), (row) => row.City),
    accommodations: groupRows(
      parseTable<Accommodation>(files.accommodations, columns.accommodations),
      (row) => row.city,
    ),
    attractions: groupRows(parseTable<Attraction>(files.attractions, columns.attractions), (row) => row.City),
    distance: (origin, destination) => distances(route(origin, destination))[0],
    state: (city) => states.get(city),
    cities: [...states.keys()],
  };
}

/** Rows without an empty cell, with the columns that the benchmark reads. */
function parseTable<Row>(bytes: Buffer, names: readonly string[]): Row[] {
  return csvRows(bytes.toString())
    .filter(isComplete)
    .map(
      (row) =>
        Object.fromEntries(
          names.map((name) => [name, numbers.has(name) ? Number(row[name]) : row[name]]),
        ) as Row,
    );
}

function toDistance(row: Readonly<Record<string, string>>): Distance {
  return {
    origin: row.origin ?? '',
    destination: row.destination ?? '',
    duration: row.duration ?? '',
    distance: row.distance ?? '',
  };
}

/**
 * The flights of the official table, by origin and destination. It has 3.8 million rows: they stay bytes, and
 * a row is parsed when its route is requested.
 */
export function flightTable(bytes: Buffer): (origin: string, destination: string) => readonly Flight[] {
  const header = line(bytes, 0);
  const names = header.text.split(',');
  const [origin, destination] = [names.indexOf('OriginCityName'), names.indexOf('DestCityName')];
  const rowOffsets = new Map<string, number[]>();
  for (let start = header.next; start < bytes.length;) {
    const { text, next } = line(bytes, start);
    const cells = text.split(',');
    const key = route(cells[origin] ?? '', cells[destination] ?? '');
    const offsets = rowOffsets.get(key);
    if (offsets === undefined) rowOffsets.set(key, [start]);
    else offsets.push(start);
    start = next;
  }
  return (from, to) =>
    (rowOffsets.get(route(from, to)) ?? []).flatMap((start) =>
      parseFlight(header.text, line(bytes, start).text),
    );
}

function line(bytes: Buffer, start: number): { text: string; next: number } {
  const newline = bytes.indexOf(10, start);
  const end = newline < 0 ? bytes.length : newline;
  return { text: bytes.toString('utf8', start, end).trimEnd(), next: end + 1 };
}

function parseFlight(header: string, text: string): Flight[] {
  const row = csvRows(`${header}\n${text}`)[0];
  if (row === undefined || !isComplete(row)) return [];
  const columns = [
    'Flight Number',
    'Price',
    'DepTime',
    'ArrTime',
    'ActualElapsedTime',
    'FlightDate',
    'OriginCityName',
    'DestCityName',
    'Distance',
  ];
  const flight = Object.fromEntries(
    columns.map((name) => [name, name === 'Price' || name === 'Distance' ? Number(row[name]) : row[name]]),
  );
  return [flight as unknown as Flight];
}
