import { mean } from '../numerics/arithmetic.ts';
import { rankCorrelation } from '../numerics/tests.ts';
import { measuredValues } from '../report/run-data.ts';
import type { CrossPlayCell, CrossPlayRecord } from '../types/comparison-inputs.ts';
import { estimateOverSeeds } from './seed-estimates.ts';
import type { SeedEstimate } from './seed-estimates.ts';

export interface CrossPlaySummary {
  arm: string;
  seeds: number[];
  epochs: number[];
  /**
   * Success of the agent of each epoch (row) on the tasks of the simulator of each (column), mean over the
   * seeds; null if it wrote no task.
   */
  rates: (number | null)[][];
  /**
   * Rank correlation of success with the simulator's epoch, mean over agents, then over seeds: below 0 if
   * simulators write ever harder tasks. `agent` is the same with the agent's epoch: above 0 if agents get
   * better at the same tasks. SPICE's test of co-evolution (2510.24684).
   */
  trends: { simulator: SeedEstimate | null; agent: SeedEstimate | null };
  retention: Retention;
}

export function summarizeCrossPlay(records: readonly CrossPlayRecord[]): CrossPlaySummary[] {
  const arms = [...new Set(records.map(({ arm }) => arm))];
  return arms.map((arm) => {
    const ownRecords = records.filter((record) => record.arm === arm);
    const epochs = [...new Set(ownRecords[0]!.cells.map(({ agent }) => agent))].sort((a, b) => a - b);
    const matrices = ownRecords.map(({ cells }) => rateMatrix(cells, epochs));
    const columns = (rates: Rates) => epochs.map((_, simulator) => rates.map((row) => row[simulator]!));
    const estimateTrend = (lines: (rates: Rates) => Rates) => {
      const bySeed = matrices.map((rates) =>
        mean(measuredValues(lines(rates).map((line) => trend(epochs, line)))),
      );
      return estimateOverSeeds(bySeed, { low: -1, high: 1 });
    };
    const meanRate = (agent: number, simulator: number) =>
      mean(measuredValues(matrices.map((rates) => rates[agent]![simulator]!)));
    return {
      arm,
      seeds: ownRecords.map(({ seed }) => seed),
      epochs,
      rates: epochs.map((_, agent) => epochs.map((_, simulator) => meanRate(agent, simulator))),
      trends: {
        simulator: estimateTrend((rates) => rates),
        agent: estimateTrend(columns),
      },
      retention: measureRetention(epochs, matrices),
    };
  });
}

const rateMatrix = (cells: readonly CrossPlayCell[], epochs: readonly number[]): (number | null)[][] =>
  epochs.map((agent) =>
    epochs.map((simulator) => {
      const cell = cells.find((played) => played.agent === agent && played.simulator === simulator);
      return cell === undefined || cell.attempts === 0 ? null : cell.successes / cell.attempts;
    }),
  );

/** Rates that are all equal have no trend, which is 0, not unknown. */
function trend(epochs: readonly number[], rates: readonly (number | null)[]): number | null {
  const points = rates.flatMap((rate, index) => (rate === null ? [] : [{ epoch: epochs[index]!, rate }]));
  if (points.length > 1 && points.every(({ rate }) => rate === points[0]!.rate)) return 0;
  return rankCorrelation(
    points.map(({ epoch }) => epoch),
    points.map(({ rate }) => rate),
  );
}

/**
 * Success of an epoch's agent (row) on the tasks of an epoch's simulator (column) of one run; null if none.
 */
type Rates = readonly (readonly (number | null)[])[];

export interface Retention {
  /**
   * For each simulator but the last: its tasks under the agent of its own epoch, the best of the agents
   * before the last, and the last.
   */
  epochs: { epoch: number; then: number | null; best: number | null; end: number | null }[];
  /** Best earlier agent minus the last, mean over the simulators; above 0 if skill was lost. */
  forgetting: SeedEstimate | null;
}

/**
 * How much of the success on each epoch's tasks remains at the end (GenEnv 2.3: the pool is there to "retain
 * mastery of earlier curricula"). The best of several measured rates is too high by chance, so forgetting is
 * overestimated.
 */
function measureRetention(epochs: readonly number[], runs: readonly Rates[]): Retention {
  const last = epochs.length - 1;
  const columns = runs.map((rates) =>
    epochs.slice(0, last).map((_, simulator) => {
      const earlier = measuredValues(rates.slice(0, last).map((row) => row[simulator] ?? null));
      return {
        then: rates[simulator]![simulator] ?? null,
        best: earlier.length === 0 ? null : Math.max(...earlier),
        end: rates[last]![simulator] ?? null,
      };
    }),
  );
  const meanOverRuns = (simulator: number, field: 'then' | 'best' | 'end') =>
    mean(measuredValues(columns.map((column) => column[simulator]![field])));
  const lost = columns.map((column) =>
    mean(column.flatMap(({ best, end }) => (best === null || end === null ? [] : [best - end]))),
  );
  return {
    epochs: epochs.slice(0, last).map((epoch, simulator) => ({
      epoch,
      then: meanOverRuns(simulator, 'then'),
      best: meanOverRuns(simulator, 'best'),
      end: meanOverRuns(simulator, 'end'),
    })),
    forgetting: estimateOverSeeds(lost),
  };
}
