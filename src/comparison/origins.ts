import type { Origin } from '../runs/file-schemas.ts';
import type { RunRecord } from './run-metrics.ts';

/** The runs of one home, where a comparison was made in several. */
export interface HomeRuns {
  /** A letter, in the order in which the runs name homes. */
  name: string;
  machine: string;
  runs: string[];
}

/** The runs by home; none if all were made in one, for then where it was says nothing. */
export function homesOf(runs: readonly RunRecord[]): HomeRuns[] {
  const keys = [...new Set(runs.map(({ origin }) => keyOf(origin)))];
  if (keys.length < 2) return [];
  return keys.map((key, index) => {
    const own = runs.filter(({ origin }) => keyOf(origin) === key);
    return { name: letter(index), machine: own[0]!.origin.machine, runs: own.map(({ id }) => id) };
  });
}

const keyOf = ({ home, machine }: Origin): string => `${home} ${machine}`;

/** A, B, …, Z, A1, … */
const letter = (index: number): string =>
  String.fromCharCode(65 + (index % 26)) + (index < 26 ? '' : String(Math.floor(index / 26)));

/** What a reader must know of a comparison that was made in several homes. */
export function* describeHomes(runs: readonly RunRecord[]): Generator<string> {
  const homes = homesOf(runs);
  if (homes.length === 0) return;
  const parts = homes.map(({ name, machine, runs: own }) => `${name} (${machine}) ${own.length}`);
  yield (
    `The runs were made in ${homes.length} homes, and carried into one by their figures: ${parts.join(', ')} of ` +
    `${runs.length}. The table of runs says which. Whether their ledgers are whole was checked in the home that ` +
    'made them.'
  );
  const split = [...new Set(runs.map(({ seed }) => seed))].filter(
    (seed) => new Set(runs.filter((run) => run.seed === seed).map(({ origin }) => keyOf(origin))).size > 1,
  );
  if (split.length > 0)
    yield (
      `Under ${split.length === 1 ? `seed ${split[0]}` : `seeds ${split.join(', ')}`} the arms ran in different ` +
      'homes. They started from the same policies, bit by bit; what another processor rounds otherwise is part of ' +
      'their differences.'
    );
}
