import { requireInRange } from './domain.ts';

/**
 * Effective sample size of regression weights as a share of the records: (Σ w)² / (N Σ w²), in (0, 1] (Kish).
 * Below 0.2 the update rests on few records: lower λ, or widen the window. Above 0.98 the weighting does nothing
 * (the paper's constants). Null without any positive weight.
 */
export function effectiveSampleSize(weights: readonly number[]): number | null {
  for (const [i, weight] of weights.entries()) requireInRange(`weights[${i}]`, weight, 0, Number.MAX_VALUE);
  const highest = weights.reduce((high, weight) => Math.max(high, weight), 0);
  if (highest === 0) return null;
  // In units of the largest weight: squares of very small or large ones would under- or overflow.
  const sum = weights.reduce((total, weight) => total + weight / highest, 0);
  const squares = weights.reduce((total, weight) => total + (weight / highest) ** 2, 0);
  return Math.min(1, sum ** 2 / (weights.length * squares));
}
