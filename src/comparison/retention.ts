import { mean } from '../coevolution/domain.ts';
import { deriveSeed } from '../coevolution/seeds.ts';
import { measured } from '../report/run-data.ts';
import { overSeeds } from './over-seeds.ts';
import type { OverSeeds } from './over-seeds.ts';

/** Success of an epoch's agent (row) on the tasks of an epoch's simulator (column), of one run; null where there was none. */
export type Rates = readonly (readonly (number | null)[])[];

export interface Retention {
  /** For each simulator but the last: its tasks under the agent of its own epoch, the best of the agents before the last, and the last. */
  epochs: { epoch: number; then: number | null; best: number | null; end: number | null }[];
  /** Best earlier agent minus the last, mean over the simulators; above 0 where skill was lost. */
  forgetting: OverSeeds | null;
}

/**
 * What is left at the end of what was learnt on each epoch's tasks (GenEnv 2.3: the pool is there to "retain mastery of earlier
 * curricula"). The best of several measured rates is too high by chance, so forgetting is measured rather too large.
 */
export function retention(arm: string, epochs: readonly number[], runs: readonly Rates[]): Retention {
  const last = epochs.length - 1;
  const columns = runs.map((rates) =>
    epochs.slice(0, last).map((_, simulator) => {
      const earlier = measured(rates.slice(0, last).map((row) => row[simulator] ?? null));
      return {
        then: rates[simulator]![simulator] ?? null,
        best: earlier.length === 0 ? null : Math.max(...earlier),
        end: rates[last]![simulator] ?? null,
      };
    }),
  );
  const over = (simulator: number, of: 'then' | 'best' | 'end') =>
    mean(measured(columns.map((column) => column[simulator]![of])));
  const lost = columns.map((column) =>
    mean(column.flatMap(({ best, end }) => (best === null || end === null ? [] : [best - end]))),
  );
  return {
    epochs: epochs
      .slice(0, last)
      .map((epoch, simulator) => ({
        epoch,
        then: over(simulator, 'then'),
        best: over(simulator, 'best'),
        end: over(simulator, 'end'),
      })),
    forgetting: overSeeds(lost, deriveSeed(0, 'bootstrap', arm, 'forgetting')),
  };
}
