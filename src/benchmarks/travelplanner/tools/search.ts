import { beforeParenthesis } from '../data/names.ts';
import { drivingCost } from '../data/sandbox.ts';
import type { Sandbox, Vehicle } from '../data/sandbox.ts';
import { pythonText } from '../prompts/python-text.ts';
import { tableText } from '../prompts/table-text.ts';

/** A tool's observation; `failed` counts towards giving up on the tool. */
export type Found = { text: string; failed: boolean };

const found = (text: string): Found => ({ text, failed: false });
const failed = (text: string): Found => ({ text, failed: true });

export function searchFlights(sandbox: Sandbox, origin: string, destination: string, date: string): Found {
  if (!/^\d{4}-\d{2}-\d{2}$/u.test(date)) return failed(`'${date}' is not in the format YYYY-MM-DD`);
  const unknown = [origin, destination].find((city) => !sandbox.cities.includes(city));
  if (unknown !== undefined) return invalidCity(sandbox, unknown);
  const flights = sandbox.flights(origin, destination).filter((flight) => flight.FlightDate === date);
  return found(
    flights.length === 0
      ? `There is no flight from ${origin} to ${destination} on ${date}.`
      : tableText(flights),
  );
}

/** A table of a city. Of an empty one the official tools say "attraction" for accommodations too. */
export function searchCity(
  sandbox: Sandbox,
  table: 'restaurants' | 'accommodations' | 'attractions',
  city: string,
): Found {
  if (!sandbox.cities.includes(city)) return invalidCity(sandbox, city);
  const rows = sandbox[table](city);
  return found(
    rows.length === 0
      ? `There is no ${table === 'restaurants' ? 'restaurant' : 'attraction'} in this city.`
      : tableText(rows),
  );
}

export function searchState(sandbox: Sandbox, state: string): Found {
  const cities = sandbox.cities.filter((city) => sandbox.state(city) === state);
  return found(cities.length === 0 ? 'Invalid State' : pythonList(cities));
}

/** As the official tool: any mode with `driving` in it is self-driving, and one that is neither has no cost. */
export function searchDistance(sandbox: Sandbox, from: string, to: string, mode: string): Found {
  const [origin, destination] = [beforeParenthesis(from), beforeParenthesis(to)];
  const way = sandbox.distance(origin, destination);
  if (way === undefined) return found(`${mode}, from ${origin} to ${destination}, no valid information.`);
  const vehicle: Vehicle | null = mode.includes('driving') ? 'self-driving' : mode === 'taxi' ? 'taxi' : null;
  if (drivingCost(way, 'taxi') === null) return found('No valid information.');
  const cost = vehicle === null ? 'None' : String(drivingCost(way, vehicle));
  return found(
    `${mode}, from ${origin} to ${destination}, duration: ${way.duration}, distance: ${way.distance}, cost: ${cost}`,
  );
}

function invalidCity(sandbox: Sandbox, city: string): Found {
  return failed(`${city} is not valid city in ${pythonList(sandbox.cities)}.`);
}

const pythonList = (texts: readonly string[]): string =>
  `[${texts.map((text) => pythonText(text)).join(', ')}]`;
