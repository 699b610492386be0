import { beforeParenthesis } from '../data/plan.ts';
import { drivingCost } from '../data/sandbox.ts';
import type { Sandbox, Vehicle } from '../data/sandbox.ts';
import { pythonRecords, pythonText, tableText } from '../prompts/data-text.ts';

export const searchTools = [
  'FlightSearch',
  'GoogleDistanceMatrix',
  'AccommodationSearch',
  'RestaurantSearch',
  'AttractionSearch',
  'CitySearch',
] as const;

const otherTools = ['NotebookWrite', 'Planner'] as const;

export type ToolName = (typeof searchTools | typeof otherTools)[number];

export const isTool = (name: string): name is ToolName =>
  isSearch(name) || (otherTools as readonly string[]).includes(name);

/** The result of a call. */
export interface Observation {
  text: string;
  /**
   * It contains search data, which is masked after the next successful call: it should be in the notebook by
   * then.
   */
  isData: boolean;
  /** The call succeeded and masks the data before it. */
  masksData: boolean;
  failed: boolean;
}

export const MASKED_TEXT = 'Masked due to limited length. Make sure the data has been written in Notebook.';

const invalid =
  'Invalid Action. Valid Actions are  FlightSearch[Departure City, Destination City, Date] / AccommodationSearch[City] /  RestaurantSearch[City] / NotebookWrite[Short Description] / AttractionSearch[City] / CitySearch[State] / GoogleDistanceMatrix[Origin, Destination, Mode] and Planner[Query].';

/** The sandbox's tools and notebook during one attempt. Deterministic in its calls. */
export class PlannerTools {
  readonly #sandbox: Sandbox;
  readonly #notebook: { index: number; 'Short Description': string; Content: string }[] = [];
  /** The last search result, except of CitySearch: what NotebookWrite writes. */
  #data = 'None';

  constructor(sandbox: Sandbox) {
    this.#sandbox = sandbox;
  }

  /** The planner's input: all entries of the notebook, as Python prints them. */
  get notebook(): string {
    return pythonRecords(this.#notebook);
  }

  /** Calls any tool but Planner. An unknown one is an observation too. */
  call(tool: string, args: readonly string[]): Observation {
    if (tool === 'NotebookWrite') return this.#write(args.join(', '));
    if (!isSearch(tool)) return { text: invalid, isData: false, masksData: false, failed: true };
    const result = this.#search(tool, args);
    const isData = !result.failed && tool !== 'CitySearch';
    if (isData) this.#data = result.text;
    return { text: result.text, isData, masksData: !result.failed, failed: result.failed };
  }

  #search(tool: (typeof searchTools)[number], args: readonly string[]): SearchResult {
    const [first = '', second, third] = args;
    switch (tool) {
      case 'FlightSearch':
        return second === undefined || third === undefined
          ? illegalArguments('Flight Search')
          : searchFlights(this.#sandbox, first, second, third);
      case 'GoogleDistanceMatrix':
        return second === undefined || third === undefined
          ? illegalArguments('GoogleDistanceMatrix')
          : searchDistance(this.#sandbox, first, second, third);
      case 'AccommodationSearch':
        return searchCity(this.#sandbox, 'accommodations', args.join(', '));
      case 'RestaurantSearch':
        return searchCity(this.#sandbox, 'restaurants', args.join(', '));
      case 'AttractionSearch':
        return searchCity(this.#sandbox, 'attractions', args.join(', '));
      case 'CitySearch':
        return searchState(this.#sandbox, args.join(', '));
    }
  }

  #write(description: string): Observation {
    const index =
      this.#notebook.push({
        index: this.#notebook.length,
        'Short Description': description,
        Content: this.#data,
      }) - 1;
    return {
      text: `The information has been recorded in Notebook, and its index is ${index}.`,
      isData: false,
      masksData: true,
      failed: false,
    };
  }
}

function isSearch(tool: string): tool is (typeof searchTools)[number] {
  return (searchTools as readonly string[]).includes(tool);
}

const illegalArguments = (what: string): SearchResult => ({
  text: `Illegal ${what}. Please try again.`,
  failed: true,
});

/** A tool's observation; `failed` counts towards giving up on the tool. */
export type SearchResult = { text: string; failed: boolean };

const succeeded = (text: string): SearchResult => ({ text, failed: false });
const failed = (text: string): SearchResult => ({ text, failed: true });

export function searchFlights(
  sandbox: Sandbox,
  origin: string,
  destination: string,
  date: string,
): SearchResult {
  if (!/^\d{4}-\d{2}-\d{2}$/u.test(date)) return failed(`'${date}' is not in the format YYYY-MM-DD`);
  const unknown = [origin, destination].find((city) => !sandbox.cities.includes(city));
  if (unknown !== undefined) return invalidCity(sandbox, unknown);
  const flights = sandbox.flights(origin, destination).filter((flight) => flight.FlightDate === date);
  return succeeded(
    flights.length === 0
      ? `There is no flight from ${origin} to ${destination} on ${date}.`
      : tableText(flights),
  );
}

/** A table of a city. For an empty one the official tools say "attraction", also for accommodations. */
export function searchCity(
  sandbox: Sandbox,
  table: 'restaurants' | 'accommodations' | 'attractions',
  city: string,
): SearchResult {
  if (!sandbox.cities.includes(city)) return invalidCity(sandbox, city);
  const rows = sandbox[table](city);
  return succeeded(
    rows.length === 0
      ? `There is no ${table === 'restaurants' ? 'restaurant' : 'attraction'} in this city.`
      : tableText(rows),
  );
}

export function searchState(sandbox: Sandbox, state: string): SearchResult {
  const cities = sandbox.cities.filter((city) => sandbox.state(city) === state);
  return succeeded(cities.length === 0 ? 'Invalid State' : pythonList(cities));
}

/** As in the official tool, any mode with `driving` in it is self-driving, and an unknown one has no cost. */
export function searchDistance(sandbox: Sandbox, from: string, to: string, mode: string): SearchResult {
  const [origin, destination] = [beforeParenthesis(from), beforeParenthesis(to)];
  const way = sandbox.distance(origin, destination);
  if (way === undefined) return succeeded(`${mode}, from ${origin} to ${destination}, no valid information.`);
  const vehicle = vehicleOf(mode);
  if (drivingCost(way, 'taxi') === null) return succeeded('No valid information.');
  const cost = vehicle === null ? 'None' : String(drivingCost(way, vehicle));
  return succeeded(
    `${mode}, from ${origin} to ${destination}, duration: ${way.duration}, distance: ${way.distance}, cost: ${cost}`,
  );
}

function vehicleOf(mode: string): Vehicle | null {
  if (mode.includes('driving')) return 'self-driving';
  return mode === 'taxi' ? 'taxi' : null;
}

function invalidCity(sandbox: Sandbox, city: string): SearchResult {
  return failed(`${city} is not valid city in ${pythonList(sandbox.cities)}.`);
}

const pythonList = (texts: readonly string[]): string =>
  `[${texts.map((text) => pythonText(text)).join(', ')}]`;

/** When the official agent gives up an attempt. */
export const limits = { steps: 30, failuresOfATool: 3, sameActions: 3 } as const;

/**
 * When the official agent gives up: after three failures of a tool without a success between, and after the
 * same action three times in a row.
 */
export class GiveUpRule {
  readonly #failures = new Map<string, number>();
  #last = '';
  #same = 0;

  /** Called before an action. Returns why the attempt ends; null if it continues. */
  checkAction(tool: string, action: string): string | null {
    this.#same = action === this.#last ? this.#same + 1 : 1;
    this.#last = action;
    if (this.#same === limits.sameActions) return 'the same action three times in a row';
    return (this.#failures.get(toolOrInvalid(tool)) ?? 0) >= limits.failuresOfATool
      ? `${toolOrInvalid(tool)} failed three times`
      : null;
  }

  /** Called with the outcome of the action. */
  record(tool: string, failed: boolean): void {
    if (failed) this.#failures.set(toolOrInvalid(tool), (this.#failures.get(toolOrInvalid(tool)) ?? 0) + 1);
    else this.#failures.clear();
  }
}

/** All invalid actions count as one tool. */
const toolOrInvalid = (tool: string): string => (isTool(tool) ? tool : 'an invalid action');
