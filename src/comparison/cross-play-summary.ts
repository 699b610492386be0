import { mean } from '../coevolution/domain.ts';
import { rankCorrelation } from '../coevolution/rank-correlation.ts';
import { deriveSeed } from '../coevolution/seeds.ts';
import type { CrossPlayCell, CrossPlayRecord } from '../contracts/comparisons.ts';
import { measured } from '../report/run-data.ts';
import { overSeeds } from './over-seeds.ts';
import type { OverSeeds } from './over-seeds.ts';
import { retention } from './retention.ts';
import type { Rates, Retention } from './retention.ts';

export interface CrossPlaySummary {
  arm: string;
  seeds: number[];
  epochs: number[];
  /** Success of the agent of each epoch (row) on the tasks of the simulator of each (column), mean over the seeds; null where it wrote no task. */
  rates: (number | null)[][];
  /**
   * Rank correlation of success with the simulator's epoch, mean over agents, then over seeds: below 0 where simulators write ever harder tasks.
   * `agent` is the same with the agent's epoch: above 0 where agents get better at the same tasks. SPICE's test of co-evolution (2510.24684).
   */
  trends: { simulator: OverSeeds | null; agent: OverSeeds | null };
  retention: Retention;
}

export function crossPlaySummary(records: readonly CrossPlayRecord[]): CrossPlaySummary[] {
  const arms = [...new Set(records.map(({ arm }) => arm))];
  return arms.map((arm) => {
    const of = records.filter((record) => record.arm === arm);
    const epochs = [...new Set(of[0]!.cells.map(({ agent }) => agent))].sort((a, b) => a - b);
    const seeds = of.map(({ cells }) => matrix(cells, epochs));
    const columns = (rates: Rates) => epochs.map((_, simulator) => rates.map((row) => row[simulator]!));
    const along = (side: string, lines: (rates: Rates) => Rates) =>
      overSeeds(
        seeds.map((rates) => mean(measured(lines(rates).map((line) => trend(epochs, line))))),
        deriveSeed(0, 'bootstrap', arm, 'trend', side),
      );
    return {
      arm,
      seeds: of.map(({ seed }) => seed),
      epochs,
      rates: epochs.map((_, agent) =>
        epochs.map((_, simulator) => mean(measured(seeds.map((rates) => rates[agent]![simulator]!)))),
      ),
      trends: { simulator: along('simulator', (rates) => rates), agent: along('agent', columns) },
      retention: retention(arm, epochs, seeds),
    };
  });
}

const matrix = (cells: readonly CrossPlayCell[], epochs: readonly number[]): (number | null)[][] =>
  epochs.map((agent) =>
    epochs.map((simulator) => {
      const cell = cells.find((one) => one.agent === agent && one.simulator === simulator);
      return cell === undefined || cell.attempts === 0 ? null : cell.successes / cell.attempts;
    }),
  );

function trend(epochs: readonly number[], rates: readonly (number | null)[]): number | null {
  const points = rates.flatMap((rate, index) => (rate === null ? [] : [{ epoch: epochs[index]!, rate }]));
  return rankCorrelation(
    points.map(({ epoch }) => epoch),
    points.map(({ rate }) => rate),
  );
}
