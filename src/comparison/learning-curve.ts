import { mean, sum } from '../numerics/arithmetic.ts';
import { requireFinite, requireInteger } from '../numerics/preconditions.ts';

/** Held-out success after so many rollouts of training, all epochs' together. */
export type CurvePoint = { rollouts: number; score: number };

/** A curve over several seeds at one place; `low` and `high` are null for a single seed. */
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
  const after = curve.findIndex((point) => point.rollouts >= rollouts);
  const right = curve[after];
  if (right === undefined) return null;
  if (right.rollouts === rollouts) return right.score;
  const left = curve[after - 1];
  if (left === undefined) return null;
  const share = (rollouts - left.rollouts) / (right.rollouts - left.rollouts);
  return left.score + share * (right.score - left.score);
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

/** Mean of some values and its 95 % interval; null without values, and no ends for a single one. */
export function studentInterval(
  values: readonly number[],
): { mean: number; low: number | null; high: number | null } | null {
  for (const [i, value] of values.entries()) requireFinite(`values[${i}]`, value);
  const centre = mean(values);
  if (centre === null) return null;
  if (values.length === 1) return { mean: centre, low: null, high: null };
  const variance = sum(values.map((value) => (value - centre) ** 2)) / (values.length - 1);
  const margin = studentQuantile(values.length - 1) * Math.sqrt(variance / values.length);
  return { mean: centre, low: centre - margin, high: centre + margin };
}

/** Student's t of a two-sided 95 % interval, from 1 degree of freedom on. */
const STUDENT_95 = [
  12.7062, 4.3027, 3.1824, 2.7764, 2.5706, 2.4469, 2.3646, 2.306, 2.2622, 2.2281, 2.201, 2.1788, 2.1604,
  2.1448, 2.1314, 2.1199, 2.1098, 2.1009, 2.093, 2.086,
];
const NORMAL_95 = 1.959963984540054;

/**
 * From the table; beyond it the first terms of its expansion in 1 / ν (Abramowitz and Stegun 26.7.5), right
 * to four decimals.
 */
function studentQuantile(degrees: number): number {
  const z = NORMAL_95;
  const first = (z ** 3 + z) / (4 * degrees);
  const second = (5 * z ** 5 + 16 * z ** 3 + 3 * z) / (96 * degrees ** 2);
  return STUDENT_95[degrees - 1] ?? z + first + second;
}

function requireCurve(curve: readonly CurvePoint[]): void {
  for (const [i, { rollouts, score }] of curve.entries()) {
    requireFinite(`curve[${i}].score`, score);
    requireInteger(`curve[${i}].rollouts`, rollouts, i === 0 ? 0 : curve[i - 1]!.rollouts + 1);
  }
}
