import type { Sandbox } from '../data/sandbox.ts';
import { pythonRecords } from '../prompts/python-text.ts';
import { searchCity, searchDistance, searchFlights, searchState } from './search.ts';
import type { Found } from './search.ts';

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

/** What came of a call. */
export interface Observation {
  text: string;
  /** It holds data of a search, which is masked once the next call has worked: it should be in the notebook by then. */
  isData: boolean;
  /** A call worked that masks the data before it. */
  masksData: boolean;
  failed: boolean;
}

export const masked = 'Masked due to limited length. Make sure the data has been written in Notebook.';

const invalid =
  'Invalid Action. Valid Actions are  FlightSearch[Departure City, Destination City, Date] / AccommodationSearch[City] /  RestaurantSearch[City] / NotebookWrite[Short Description] / AttractionSearch[City] / CitySearch[State] / GoogleDistanceMatrix[Origin, Destination, Mode] and Planner[Query].';

/** The sandbox's tools and notebook, in the hands of one attempt. Follows from its calls alone. */
export class Desk {
  readonly #sandbox: Sandbox;
  readonly #notebook: { index: number; 'Short Description': string; Content: string }[] = [];
  /** Found last, and not from CitySearch: what NotebookWrite writes. */
  #data = 'None';

  constructor(sandbox: Sandbox) {
    this.#sandbox = sandbox;
  }

  /** What the planner is given: all entries of the notebook, as Python prints them. */
  get notebook(): string {
    return pythonRecords(this.#notebook);
  }

  /** Calls any tool but Planner. An unknown one is an observation too. */
  call(tool: string, args: readonly string[]): Observation {
    if (tool === 'NotebookWrite') return this.#write(args.join(', '));
    if (!isSearch(tool)) return { text: invalid, isData: false, masksData: false, failed: true };
    const found = this.#search(tool, args);
    const isData = !found.failed && tool !== 'CitySearch';
    if (isData) this.#data = found.text;
    return { text: found.text, isData, masksData: !found.failed, failed: found.failed };
  }

  #search(tool: (typeof searchTools)[number], args: readonly string[]): Found {
    const [first = '', second, third] = args;
    switch (tool) {
      case 'FlightSearch':
        return second === undefined || third === undefined
          ? illegal('Flight Search')
          : searchFlights(this.#sandbox, first, second, third);
      case 'GoogleDistanceMatrix':
        return second === undefined || third === undefined
          ? illegal('GoogleDistanceMatrix')
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

const illegal = (what: string): Found => ({ text: `Illegal ${what}. Please try again.`, failed: true });
