import { measuredValues } from '../report/run-data.ts';
import type { EpochRow } from '../report/run-data.ts';
import { areaUnderCurve } from './learning-curve.ts';
import type { CurvePoint } from './learning-curve.ts';
import { heldOutScore } from './run-metrics.ts';
import type { RunRecord } from './run-metrics.ts';
import { differencesBySeed, estimateDifferenceOverSeeds } from './seed-estimates.ts';
import type { SeedDifference } from './seed-estimates.ts';

/**
 * What a run has used by the end of each epoch, other than rollouts. Hours are none of them: they are another
 * machine's on another machine, and stand in costs.md.
 */
const axes = {
  generated: { title: 'texts that the simulator wrote', used: totalOf('env/generated') },
  tokens: { title: 'tokens sampled', used: lastOf('num_tokens') },
  agentSteps: { title: 'updates of the agent', used: totalOf('steps') },
  environmentSteps: { title: 'updates of the simulator', used: totalOf('env/steps') },
};

export type AxisName = keyof typeof axes;

/** Held-out success after so much of an axis has been used. */
export interface AxisPoint {
  used: number;
  score: number;
}

/** Learning curves along an axis. */
export interface Axis {
  name: AxisName;
  title: string;
  /** What arms are compared with: the baseline, or the first arm that used some if the baseline used none. */
  reference: string;
  arms: (AxisDifference & { arm: string; runs: SeedCurve[] })[];
}

interface AxisDifference {
  /** The least that any run of the arm and of the reference used in all; null for an arm that used none. */
  upTo: number | null;
  /** Mean of the held-out score up to there, minus the reference's under the same seed; not tested. */
  difference: SeedDifference | null;
}

interface SeedCurve {
  seed: number;
  curve: AxisPoint[];
}

/** Curves along each axis that the runs have measured, of the arms in the order given. */
export function summarizeAxes(arms: readonly string[], baseline: string, runs: readonly RunRecord[]): Axis[] {
  return (Object.keys(axes) as AxisName[]).flatMap((name) => {
    const { title, used } = axes[name];
    const curvesOf = (arm: string): SeedCurve[] =>
      runs
        .filter((run) => run.arm === arm)
        .map((run) => ({ seed: run.seed, curve: curveAlong(run.rows, withinBudget(run, used)) }));
    const curves = new Map(arms.map((arm) => [arm, curvesOf(arm)]));
    const reference = [baseline, ...arms].find((arm) => curves.get(arm)!.some(hasUsedSome));
    if (reference === undefined) return [];
    return [
      {
        name,
        title,
        reference,
        arms: arms.map((arm) => ({
          arm,
          ...(arm === reference
            ? { upTo: null, difference: null }
            : compareAlong(curves.get(arm)!, curves.get(reference)!)),
          runs: curves.get(arm)!,
        })),
      },
    ];
  });
}

const hasUsedSome = ({ curve }: SeedCurve): boolean => (curve.at(-1)?.used ?? 0) > 0;

/**
 * Two arms at the same amount of an axis: as much of it as every run of both used. A third arm does not
 * change how much that is.
 */
export function compareAlong(arm: readonly SeedCurve[], reference: readonly SeedCurve[]): AxisDifference {
  if (!arm.some(hasUsedSome)) return { upTo: null, difference: null };
  const upTo = Math.min(...[...arm, ...reference].filter(hasUsedSome).map(({ curve }) => curve.at(-1)!.used));
  const areas = (curves: readonly SeedCurve[]): (number | null)[] =>
    arm.map(({ seed }) => {
      const own = curves.find((candidate) => candidate.seed === seed);
      return own === undefined ? null : areaAlong(own.curve, upTo);
    });
  return { upTo, difference: estimateDifferenceOverSeeds(differencesBySeed(areas(arm), areas(reference))) };
}

/** Rollouts that chose the tasks of a bin are outside the budget, and so are their tokens. */
function withinBudget({ experiment, rows }: RunRecord, used: Used): Used {
  if (experiment.arm.type !== 'success-bin') return used;
  return (all, row) => {
    const amount = used(all, row);
    return amount === null ? null : amount - (used(rows, 0) ?? 0);
  };
}

type Used = (rows: readonly EpochRow[], row: number) => number | null;

/** The sum of a metric up to an epoch; null if no epoch has it. */
function totalOf(metric: string): Used {
  return (rows, row) => {
    const values = measuredValues(rows.map(({ metrics }) => metrics[metric] ?? null));
    if (values.length === 0) return null;
    return rows.slice(0, row + 1).reduce((sum, { metrics }) => sum + (metrics[metric] ?? 0), 0);
  };
}

/** A metric that is a sum already, as it was last. */
function lastOf(metric: string): Used {
  return (rows, row) => {
    const values = measuredValues(rows.slice(0, row + 1).map(({ metrics }) => metrics[metric] ?? null));
    return values.at(-1) ?? (row === 0 ? 0 : null);
  };
}

/**
 * Held-out success by the time that the epochs took, in milliseconds; empty if no time is recorded. It begins at
 * the end of the preparation. Most of that is the warm-up, which the arms of a seed share; some arms write tasks there.
 */
export const curveOverTime = (rows: readonly EpochRow[]): AxisPoint[] => {
  const spent = (row: number): number =>
    rows
      .slice(0, row + 1)
      .reduce((sum, { time }) => sum + Object.values(time).reduce((all, seconds) => all + seconds, 0), 0);
  return spent(rows.length) === 0 ? [] : curveAlong(rows, (_, row) => Math.round(1000 * spent(row)));
};

function curveAlong(rows: readonly EpochRow[], used: Used): AxisPoint[] {
  // An evaluation after epochs that used nothing takes the place of the one before.
  const scores = new Map<number, number>();
  for (const [row, epoch] of rows.entries()) {
    const score = heldOutScore(epoch);
    const amount = used(rows, row);
    if (typeof score === 'number' && amount !== null) scores.set(amount, score);
  }
  return [...scores].map(([amount, score]) => ({ used: amount, score }));
}

/** A curve along an axis as one along rollouts, which areas and means are computed of. */
export const asLearningCurve = (curve: readonly AxisPoint[]): CurvePoint[] =>
  curve.map(({ used, score }) => ({ rollouts: used, score }));

/** From nothing used: what is used before the first evaluation, such as for a data set, is paid for as well. */
function areaAlong(curve: readonly AxisPoint[], upTo: number): number | null {
  const [first] = curve;
  const fromStart = first === undefined || first.used === 0 ? curve : [{ ...first, used: 0 }, ...curve];
  return areaUnderCurve(asLearningCurve(fromStart), upTo);
}
