import { mean, sum } from './arithmetic.ts';
import { requireFinite, requireInRange, requireInteger, ROUNDING } from './preconditions.ts';

/**
 * The share of Student's distribution with ν degrees of freedom that lies in (-t, t), in [0, 1]. The finite
 * series in cos θ for θ = atan(t / √ν): Abramowitz and Stegun 26.7.3 (odd ν) and 26.7.4 (even ν).
 */
export function studentCentralShare(t: number, degrees: number): number {
  requireInRange('t', t, 0, Infinity);
  requireInteger('degrees', degrees, 1);
  const angle = Math.atan(t / Math.sqrt(degrees));
  const [sine, cosine] = [Math.sin(angle), Math.cos(angle)];
  const isOdd = degrees % 2 === 1;
  // Each term is the one before, times cos² θ and (1/2, 3/4, 5/6, …) or (2/3, 4/5, 6/7, …).
  let [term, series] = isOdd ? [cosine, degrees === 1 ? 0 : cosine] : [1, 1];
  for (let k = isOdd ? 3 : 2; k <= degrees - 2; k += 2) {
    term *= ((k - 1) / k) * cosine ** 2;
    series += term;
  }
  // A sum of rounded terms may come out above 1.
  return Math.min(1, isOdd ? (2 / Math.PI) * (angle + sine * series) : sine * series);
}

/** The t with a share of `level` in (-t, t): 2.7764 for 0.95 and four degrees of freedom. By bisection. */
export function studentQuantile(level: number, degrees: number): number {
  requireInRange('level', level, 0, 1 - 1e-9);
  let [low, high] = [0, 1];
  while (studentCentralShare(high, degrees) < level) high *= 2;
  for (let halving = 0; halving < 60; halving++) {
    const middle = (low + high) / 2;
    if (studentCentralShare(middle, degrees) < level) low = middle;
    else high = middle;
  }
  return (low + high) / 2;
}

/** A mean with an interval of it; without ends where there is none. */
export interface StudentInterval {
  mean: number;
  low: number | null;
  high: number | null;
}

/**
 * Mean of some values and its interval, mean ± t s / √n with n - 1 degrees of freedom ("Student" 1908). Null
 * without values. One value has no spread, and equal values show none: an interval of no width would say that
 * the mean is known, so there are no ends.
 */
export function studentInterval(values: readonly number[], level = 0.95): StudentInterval | null {
  const spread = spreadOf(values);
  if (spread === null) return null;
  const { centre, standardError } = spread;
  if (standardError === null) return { mean: centre, low: null, high: null };
  const margin = studentQuantile(level, values.length - 1) * standardError;
  return { mean: centre, low: centre - margin, high: centre + margin };
}

/**
 * Two-sided p of "the true mean is 0" by Student's test, in [0, 1]; null below two values, and for values that
 * are all alike.
 */
export function studentTest(values: readonly number[]): number | null {
  const spread = spreadOf(values);
  const error = spread?.standardError ?? null;
  if (spread === null || error === null) return null;
  return 1 - studentCentralShare(Math.abs(spread.centre) / error, values.length - 1);
}

/** Whether no value differs from another by more than rounding. */
export const areAlike = (values: readonly number[]): boolean =>
  values.length === 0 || Math.max(...values) - Math.min(...values) <= ROUNDING;

function spreadOf(values: readonly number[]): { centre: number; standardError: number | null } | null {
  for (const [i, value] of values.entries()) requireFinite(`values[${i}]`, value);
  const centre = mean(values);
  if (centre === null) return null;
  if (areAlike(values)) return { centre, standardError: null };
  const variance = sum(values.map((value) => (value - centre) ** 2)) / (values.length - 1);
  return { centre, standardError: Math.sqrt(variance / values.length) };
}
