/** Rows of the benchmark's database, by its own names of columns. */

export interface Flight {
  'Flight Number': string;
  Price: number;
  DepTime: string;
  ArrTime: string;
  ActualElapsedTime: string;
  FlightDate: string;
  OriginCityName: string;
  DestCityName: string;
  Distance: number;
}

export interface Restaurant {
  Name: string;
  'Average Cost': number;
  Cuisines: string;
  'Aggregate Rating': number;
  City: string;
}

export interface Accommodation {
  NAME: string;
  price: number;
  'room type': string;
  house_rules: string;
  'minimum nights': number;
  'maximum occupancy': number;
  'review rate number': number;
  city: string;
}

export interface Attraction {
  Name: string;
  Latitude: number;
  Longitude: number;
  Address: string;
  Phone: string;
  Website: string;
  City: string;
}

export interface Distance {
  origin: string;
  destination: string;
  /** `14 hours 4 mins` */
  duration: string;
  /** `1,433 km` */
  distance: string;
}

/** What tools search and plans are checked against. Rows are in the order of the database. */
export interface Sandbox {
  flights: (origin: string, destination: string) => readonly Flight[];
  restaurants: (city: string) => readonly Restaurant[];
  accommodations: (city: string) => readonly Accommodation[];
  attractions: (city: string) => readonly Attraction[];
  distance: (origin: string, destination: string) => Distance | undefined;
  /** State of a city; null if it is not known, undefined for an unknown city. */
  state: (city: string) => string | null | undefined;
  cities: readonly string[];
}

/** Rows under a key each, for look-ups: of a key without rows, none. */
export function groupRows<Row>(
  rows: Iterable<Row>,
  key: (row: Row) => string,
): (key: string) => readonly Row[] {
  const groups = Map.groupBy(rows, key);
  return (wanted) => groups.get(wanted) ?? [];
}

/** Key of a way from one place to another. */
export const route = (origin: string, destination: string): string => `${origin}\t${destination}`;

export type Vehicle = 'self-driving' | 'taxi';

/**
 * Price of a way for one car, in dollars: a dollar per kilometre by taxi, five cents self-driving, rounded
 * down. Null if the database has no distance, or the way takes a day or longer.
 */
export function drivingCost(way: Distance | undefined, vehicle: Vehicle): number | null {
  if (way === undefined || way.distance === '' || way.duration === '' || way.duration.includes('day'))
    return null;
  const kilometres = Number(way.distance.replaceAll('km', '').replaceAll(',', ''));
  if (!Number.isFinite(kilometres)) return null;
  return Math.trunc(vehicle === 'taxi' ? kilometres : kilometres * 0.05);
}
