import { mean } from '../numerics/arithmetic.ts';
import { deriveSeed } from '../numerics/random.ts';
import { trailingMean, WINDOW } from '../report/findings.ts';
import { guards } from '../report/guards.ts';
import { measured, namesUnder, trained } from '../report/run-data.ts';
import type { EpochRow } from '../report/run-data.ts';
import { meanCurve } from './learning-curve.ts';
import type { CurveMean, CurvePoint } from './learning-curve.ts';
import { overSeeds, pairedOverSeeds } from './over-seeds.ts';
import type { OverSeeds } from './over-seeds.ts';
import { heldOutCurve, measureRun, runMetricNames, shareSolved } from './run-metrics.ts';
import type { EqualTerms, RunMetricName, RunMetrics, RunRecord } from './run-metrics.ts';

/** A value an epoch, from epoch 1 on, each the mean over the seeds. */
export type EpochSeries = Record<
  'success' | 'difficulty' | 'correctLength' | 'informative' | 'unsolved' | 'solved',
  (number | null)[]
>;

export interface ArmSummary {
  arm: string;
  /** `genenv`, `random`, `static`, … */
  type: string;
  /**
   * The arm that trains its agent in the same way on tasks of a frozen simulator; null where there is none,
   * and for an agent that does not learn.
   */
  control: string | null;
  runs: { id: string; seed: number; ledger: string; figures: RunMetrics; curve: CurvePoint[] }[];
  curve: CurveMean[];
  courses: EpochSeries;
  figures: Record<RunMetricName, OverSeeds | null>;
  /**
   * Share of each kind of task in what was written: in the last five epochs, mean over the seeds, and the
   * most of five epochs on end under any seed.
   */
  kinds: { kind: string; end: number; most: number }[];
  /** Guards that warn at the end of a run, and under how many seeds. */
  warnings: { guard: string; threshold: string; seeds: number }[];
}

/**
 * An arm's runs summed up, by seed in the order of the seeds. @param places rollouts at which its curve is
 * shown
 */
export function armSummary(
  arm: string,
  runs: readonly RunRecord[],
  terms: EqualTerms,
  places: readonly number[],
): Omit<ArmSummary, 'control'> {
  const curves = runs.map(heldOutCurve);
  const figured = runs.map((run) => measureRun(run, terms));
  return {
    arm,
    type: runs[0]!.experiment.arm.type,
    runs: runs.map(({ id, seed, ledger }, index) => ({
      id,
      seed,
      ledger,
      figures: figured[index]!,
      curve: curves[index]!,
    })),
    curve: meanCurve(curves, places),
    courses: epochSeries(runs),
    figures: eachMetric((figure) =>
      overSeeds(
        figured.map((one) => one[figure]),
        deriveSeed(0, 'bootstrap', arm, figure),
      ),
    ),
    kinds: kindsOf(runs),
    warnings: warningsOf(runs),
  };
}

/** One arm minus another in a figure, under the same seeds. */
export const difference = (arm: ArmSummary, other: ArmSummary, figure: RunMetricName): OverSeeds | null =>
  pairedOverSeeds(
    arm.runs.map(({ figures }) => figures[figure]),
    other.runs.map(({ figures }) => figures[figure]),
    deriveSeed(0, 'bootstrap', arm.arm, other.arm, figure),
  );

export const eachMetric = <T>(value: (figure: RunMetricName) => T): Record<RunMetricName, T> =>
  Object.fromEntries(runMetricNames.map((figure) => [figure, value(figure)])) as Record<RunMetricName, T>;

function epochSeries(runs: readonly RunRecord[]): EpochSeries {
  const epochs = runs.map(({ rows, experiment }) => ({
    rows: trained(rows),
    n: experiment.agent.rolloutsPerTask,
  }));
  const course = (value: (row: EpochRow, n: number) => number | null): (number | null)[] =>
    Array.from({ length: epochs[0]?.rows.length ?? 0 }, (_, index) =>
      mean(measured(epochs.map(({ rows, n }) => (rows[index] === undefined ? null : value(rows[index], n))))),
    );
  const metric = (name: string) => course(({ metrics }) => metrics[name] ?? null);
  return {
    success: metric('env/success_rate'),
    difficulty: metric('env/difficulty'),
    correctLength: metric('completions/correct_mean_length'),
    informative: metric('env/effective_group_ratio'),
    unsolved: course((row, n) => shareSolved([row], 0, n)),
    solved: course((row, n) => shareSolved([row], n, n)),
  };
}

function kindsOf(runs: readonly RunRecord[]): ArmSummary['kinds'] {
  const prefix = 'env/kind/';
  // An epoch in which no task was written has no shares; in others a kind that is not named has none.
  const written = runs.map(({ rows }) =>
    rows.filter(({ metrics }) => Object.keys(metrics).some((name) => name.startsWith(prefix))),
  );
  return namesUnder(written.flat(), prefix).map((kind) => {
    const shares = written
      .filter(({ length }) => length > 0)
      .map((rows) =>
        measured(trailingMean(rows.map(({ metrics }) => metrics[`${prefix}${kind}`] ?? 0))).slice(
          Math.min(WINDOW, rows.length) - 1,
        ),
      );
    return { kind, end: mean(shares.map((of) => of.at(-1)!))!, most: Math.max(...shares.flat()) };
  });
}

function warningsOf(runs: readonly RunRecord[]): ArmSummary['warnings'] {
  const warned = runs.flatMap(({ rows, experiment }) =>
    guards(trained(rows), experiment).filter(({ state }) => state === 'warn'),
  );
  const labels = [...new Set(warned.map(({ label }) => label))];
  return labels.map((guard) => {
    const of = warned.filter(({ label }) => label === guard);
    return { guard, threshold: of[0]!.threshold, seeds: of.length };
  });
}
