import { sum } from '../numerics/arithmetic.ts';
import { interpolate } from '../numerics/interpolation.ts';
import { requireFinite, requireInteger } from '../numerics/preconditions.ts';
import { studentInterval } from '../numerics/student.ts';

/** Held-out success after so many rollouts of training, all epochs' together. */
export type CurvePoint = { rollouts: number; score: number };

/** A curve over several seeds at one place; no ends for a single seed, and for seeds that are all alike. */
export type CurveMean = {
  rollouts: number;
  mean: number;
  low: number | null;
  high: number | null;
  seeds: number;
};

/** Score of a curve at a number of rollouts, linear between its points; null outside of them. */
export function scoreAt(curve: readonly CurvePoint[], rollouts: number): number | null {
  requireCurve(curve);
  requireFinite('rollouts', rollouts);
  return interpolate(
    curve.map((point) => [point.rollouts, point.score]),
    rollouts,
  );
}

/**
 * Area under a learning curve from its first point to `upTo` rollouts, over that distance: the mean score on
 * the way, in the unit of the score (trapezoids). An arm that learns early has more of it than one that ends
 * as high. Null if the curve does not reach `upTo`, or begins there: areas over other distances cannot be
 * compared.
 */
export function areaUnderCurve(curve: readonly CurvePoint[], upTo: number): number | null {
  const end = scoreAt(curve, upTo);
  const start = curve[0];
  if (end === null || start === undefined || start.rollouts >= upTo) return null;
  const points = [...curve.filter(({ rollouts }) => rollouts < upTo), { rollouts: upTo, score: end }];
  const trapezoids = points.slice(1).map(({ rollouts, score }, i) => {
    const left = points[i]!;
    return ((rollouts - left.rollouts) * (score + left.score)) / 2;
  });
  return sum(trapezoids) / (upTo - start.rollouts);
}

/**
 * Rollouts after which a curve first has a score of `threshold`, linear between its points; null if it
 * never has.
 */
export function rolloutsToThreshold(curve: readonly CurvePoint[], threshold: number): number | null {
  requireCurve(curve);
  requireFinite('threshold', threshold);
  const reached = curve.findIndex(({ score }) => score >= threshold);
  const point = curve[reached];
  if (point === undefined) return null;
  const before = curve[reached - 1];
  if (before === undefined) return point.rollouts;
  const share = (threshold - before.score) / (point.score - before.score);
  return before.rollouts + share * (point.rollouts - before.rollouts);
}

/**
 * Mean of several seeds' curves at each of the given numbers of rollouts, with the 95 % interval of the mean,
 * mean ± t s / √n with Student's t at n - 1 degrees of freedom ("Student" 1908). Seeds whose curve does not
 * reach there do not count. Not cut to [0, 1]: an interval that leaves it says that there are too few seeds.
 */
export function meanCurve(
  curves: readonly (readonly CurvePoint[])[],
  rollouts: readonly number[],
): CurveMean[] {
  return rollouts.flatMap((at): CurveMean[] => {
    const scores = curves.map((curve) => scoreAt(curve, at)).filter((score) => score !== null);
    const interval = studentInterval(scores);
    return interval === null ? [] : [{ rollouts: at, ...interval, seeds: scores.length }];
  });
}

function requireCurve(curve: readonly CurvePoint[]): void {
  for (const [i, { rollouts, score }] of curve.entries()) {
    requireFinite(`curve[${i}].score`, score);
    requireInteger(`curve[${i}].rollouts`, rollouts, i === 0 ? 0 : curve[i - 1]!.rollouts + 1);
  }
}
