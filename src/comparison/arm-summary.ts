import type { Experiment } from '../config/experiment.ts';
import { mean, range, sum } from '../numerics/arithmetic.ts';
import { trailingMean, WINDOW } from '../report/findings.ts';
import { guards } from '../report/guards.ts';
import { measuredValues, namesUnder, trainingRows } from '../report/run-data.ts';
import type { EpochRow } from '../report/run-data.ts';
import { meanCurve } from './learning-curve.ts';
import type { CurveMean, CurvePoint } from './learning-curve.ts';
import {
  hasReachedThreshold,
  heldOutCurve,
  measureRun,
  runMetricNames,
  runMetrics,
  shareSolved,
} from './run-metrics.ts';
import type { EqualTerms, RunMetricName, RunMetrics, RunRecord } from './run-metrics.ts';
import {
  boundsOf,
  censorEstimate,
  differencesBySeed,
  estimateDifferenceOverSeeds,
  estimateOverSeeds,
} from './seed-estimates.ts';
import type { SeedDifference, SeedEstimate } from './seed-estimates.ts';

/** A value an epoch, from epoch 1 on, each the mean over the seeds. */
export type EpochSeries = Record<
  | 'success'
  | 'difficulty'
  | 'correctLength'
  | 'informative'
  | 'unsolved'
  | 'solved'
  | 'calibration'
  | 'simulatorKlOfCap',
  (number | null)[]
>;

export interface ArmRunSummary {
  id: string;
  seed: number;
  ledger: string;
  figures: RunMetrics;
  /** Whether it came to the threshold within the rollouts that are compared; if not, that figure is censored. */
  reached: boolean;
  curve: CurvePoint[];
}

/** One arm minus another in each metric; null where no seed has both. */
export type Differences = Record<RunMetricName, SeedDifference | null>;

export interface ArmSummary {
  arm: string;
  /** `genenv`, `random`, `static`, … */
  type: string;
  /**
   * The arm that trains its agent in the same way on tasks of a frozen simulator; null if there is none, and
   * for an agent that does not learn.
   */
  control: string | null;
  runs: ArmRunSummary[];
  curve: CurveMean[];
  courses: EpochSeries;
  figures: Record<RunMetricName, SeedEstimate | null>;
  /**
   * Share of each kind among the written tasks: in the last five epochs, mean over the seeds; and the largest
   * mean of five consecutive epochs under any seed.
   */
  kinds: { kind: string; end: number; most: number }[];
  /** New tasks by tenth of p̂, and those of them that the simulator's update may use; empty without a filter. */
  filtered: { tenth: number; tasks: number; kept: number }[];
  /** Guards that warn at the end of a run, and under how many seeds. */
  warnings: { guard: string; threshold: string; seeds: number }[];
}

/**
 * Sums up an arm's runs, in the order of the seeds.
 * @param places rollouts at which its curve is shown
 */
export function summarizeArm(
  arm: string,
  runs: readonly RunRecord[],
  terms: EqualTerms,
  places: readonly number[],
): Omit<ArmSummary, 'control'> {
  const curves = runs.map(heldOutCurve);
  const metricsOfRuns = runs.map((run) => measureRun(run, terms));
  return {
    arm,
    type: runs[0]!.experiment.arm.type,
    runs: runs.map(({ id, seed, ledger }, index) => ({
      id,
      seed,
      ledger,
      figures: metricsOfRuns[index]!,
      reached: hasReachedThreshold(runs[index]!, terms),
      curve: curves[index]!,
    })),
    curve: meanCurve(curves, places),
    courses: epochSeries(runs),
    figures: mapMetrics((metric) =>
      estimateOverSeeds(
        metricsOfRuns.map((metrics) => metrics[metric]),
        boundsOf(runMetrics[metric].unit),
      ),
    ),
    kinds: kindShares(runs),
    filtered: filteredTenths(runs),
    warnings: countWarnings(runs),
  };
}

/** One arm minus a reference in a metric, under the same seeds. Of censored figures the difference is not known. */
export function estimateDifference(
  arm: ArmSummary,
  reference: ArmSummary,
  metric: RunMetricName,
): SeedDifference | null {
  const bySeed = differencesBySeed(
    arm.runs.map(({ figures }) => figures[metric]),
    reference.runs.map(({ figures }) => figures[metric]),
  );
  const difference = estimateDifferenceOverSeeds(bySeed);
  if (difference === null || !isCensored(metric, [...arm.runs, ...reference.runs])) return difference;
  return { ...censorEstimate(difference), p: difference.p === null ? null : 1 };
}

/** Whether a metric is of a threshold that some run did not come to: its figure is then only the least it may be. */
export const isCensored = (metric: RunMetricName, runs: readonly Pick<ArmRunSummary, 'reached'>[]): boolean =>
  metric === 'rolloutsToThreshold' && runs.some(({ reached }) => !reached);

export const mapMetrics = <T>(value: (metric: RunMetricName) => T): Record<RunMetricName, T> =>
  Object.fromEntries(runMetricNames.map((metric) => [metric, value(metric)])) as Record<RunMetricName, T>;

function epochSeries(runs: readonly RunRecord[]): EpochSeries {
  const epochs = runs.map(({ rows, experiment }) => ({ rows: trainingRows(rows), experiment }));
  const meanByEpoch = (value: (row: EpochRow, experiment: Experiment) => number | null): (number | null)[] =>
    range(epochs[0]?.rows.length ?? 0).map((index) => {
      const values = epochs.map(({ rows, experiment }) =>
        rows[index] === undefined ? null : value(rows[index], experiment),
      );
      return mean(measuredValues(values));
    });
  const shareOf = (k: (n: number) => number) =>
    meanByEpoch((row, { agent: { rolloutsPerTask: n } }) => shareSolved([row], k(n), n));
  const metric = (name: string) => meanByEpoch(({ metrics }) => metrics[name] ?? null);
  return {
    success: metric('env/success_rate'),
    difficulty: metric('env/difficulty'),
    correctLength: metric('completions/correct_mean_length'),
    informative: metric('env/effective_group_ratio'),
    unsolved: shareOf(() => 0),
    solved: shareOf((n) => n),
    calibration: metric('env/calibration_error'),
    simulatorKlOfCap: meanByEpoch(({ metrics }, { environment }) => {
      const [kl, cap] = [metrics['env/kl'] ?? null, environment.training?.maxKl ?? null];
      return kl === null || cap === null ? null : kl / cap;
    }),
  };
}

function kindShares(runs: readonly RunRecord[]): ArmSummary['kinds'] {
  const prefix = 'env/kind/';
  // An epoch in which no task was written has no shares; in others a kind that is not named has none.
  const written = runs.map(({ rows }) =>
    rows.filter(({ metrics }) => Object.keys(metrics).some((name) => name.startsWith(prefix))),
  );
  return namesUnder(written.flat(), prefix).map((kind) => {
    const shares = written
      .filter(({ length }) => length > 0)
      .map((rows) => {
        const byEpoch = rows.map(({ metrics }) => metrics[`${prefix}${kind}`] ?? 0);
        return measuredValues(trailingMean(byEpoch)).slice(Math.min(WINDOW, rows.length) - 1);
      });
    return {
      kind,
      end: mean(shares.map((trailing) => trailing.at(-1)!))!,
      most: Math.max(...shares.flat()),
    };
  });
}

function filteredTenths(runs: readonly RunRecord[]): ArmSummary['filtered'] {
  const rows = runs.flatMap((run) => run.rows);
  const total = (name: string): number =>
    sum(measuredValues(rows.map(({ metrics }) => metrics[name] ?? null)));
  return namesUnder(rows, 'env/rate_tenths/').map((tenth) => ({
    tenth: Number(tenth),
    tasks: total(`env/rate_tenths/${tenth}`),
    kept: total(`env/rate_tenths_kept/${tenth}`),
  }));
}

function countWarnings(runs: readonly RunRecord[]): ArmSummary['warnings'] {
  const warned = runs.flatMap(({ rows, experiment }) =>
    guards(trainingRows(rows), experiment).filter(({ state }) => state === 'warn'),
  );
  const labels = [...new Set(warned.map(({ label }) => label))];
  return labels.map((guard) => {
    const warnings = warned.filter(({ label }) => label === guard);
    return { guard, threshold: warnings[0]!.threshold, seeds: warnings.length };
  });
}
