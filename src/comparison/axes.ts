import { heldOutOf, measured } from '../report/run-data.ts';
import type { EpochRow } from '../report/run-data.ts';
import { areaUnderCurve } from './learning-curve.ts';
import type { RunRecord } from './run-metrics.ts';
import { boundsOf, estimateOverSeeds } from './seed-estimates.ts';
import type { SeedEstimate } from './seed-estimates.ts';

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
  /** The least that any run used in all, of those that used some: areas go up to there. Null if none did. */
  upTo: number | null;
  arms: {
    arm: string;
    /** Mean of the held-out score up to there; null for an arm that used nothing. */
    area: SeedEstimate | null;
    runs: { seed: number; curve: AxisPoint[] }[];
  }[];
}

/** Curves along each axis that the runs have measured, of the arms in the order given. */
export function summarizeAxes(arms: readonly string[], runs: readonly RunRecord[]): Axis[] {
  return (Object.keys(axes) as AxisName[]).flatMap((name) => {
    const { title, used } = axes[name];
    const curves = runs.map((run) => ({ arm: run.arm, seed: run.seed, curve: curveAlong(run.rows, used) }));
    const ends = curves.map(({ curve }) => curve.at(-1)?.used ?? 0).filter((end) => end > 0);
    if (ends.length === 0) return [];
    const upTo = Math.min(...ends);
    const armOf = (arm: string): Axis['arms'][number] => {
      const own = curves.filter((curve) => curve.arm === arm);
      return {
        arm,
        area: estimateOverSeeds(
          own.map(({ curve }) => areaAlong(curve, upTo)),
          boundsOf('share'),
        ),
        runs: own.map(({ seed, curve }) => ({ seed, curve })),
      };
    };
    return [{ name, title, upTo, arms: arms.map(armOf) }];
  });
}

type Used = (rows: readonly EpochRow[], row: number) => number | null;

/** The sum of a metric up to an epoch; null if no epoch has it. */
function totalOf(metric: string): Used {
  return (rows, row) => {
    const values = measured(rows.map(({ metrics }) => metrics[metric] ?? null));
    if (values.length === 0) return null;
    return rows.slice(0, row + 1).reduce((sum, { metrics }) => sum + (metrics[metric] ?? 0), 0);
  };
}

/** A metric that is a sum already, as it was last. */
function lastOf(metric: string): Used {
  return (rows, row) => {
    const values = measured(rows.slice(0, row + 1).map(({ metrics }) => metrics[metric] ?? null));
    return values.at(-1) ?? (row === 0 ? 0 : null);
  };
}

/** Held-out success by the time that the epochs took, in milliseconds; empty if no time is recorded. */
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
  for (const [row, { metrics }] of rows.entries()) {
    const score = heldOutOf({ metrics });
    const amount = used(rows, row);
    if (typeof score === 'number' && amount !== null) scores.set(amount, score);
  }
  return [...scores].map(([amount, score]) => ({ used: amount, score }));
}

export const areaAlong = (curve: readonly AxisPoint[], upTo: number): number | null =>
  areaUnderCurve(
    curve.map(({ used, score }) => ({ rollouts: used, score })),
    upTo,
  );
