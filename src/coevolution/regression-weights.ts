import { sum } from '../numerics/arithmetic.ts';
import { requireFinite, requireInRange, requirePositive } from '../numerics/preconditions.ts';

/** lambda >= 0: inverse temperature (1 in the paper; 0 weighs all alike). clip > 0: largest weight. */
export type RegressionSettings = { lambda: number; clip?: number };

/**
 * Weights of reward-weighted regression: w_i = N exp(λ (R_i - max R)) / Σ_j exp(λ (R_j - max R)), then at
 * most `clip`. Mean 1 before clipping, in (0, min(N, clip)]. GenEnv 2.2: weight ∝ exp(λ R_env), λ = 1;
 * subtracting the largest reward changes nothing but overflow; the clip (20) is ours, since one record must
 * not be the whole update.
 *
 * With the paper's β = 2 and λ = 1 the weights are almost flat: w(p̂ = 0.5) / w(p̂ = 0) is 1.48; β = 8 and λ
 * = 5 give 75. A reward of 0 is not a weight of 0: invalid tasks are left out by the caller.
 */
export function regressionWeights(
  rewards: readonly number[],
  { lambda, clip = 20 }: RegressionSettings,
): number[] {
  for (const [i, reward] of rewards.entries()) requireFinite(`rewards[${i}]`, reward);
  requireInRange('lambda', lambda, 0, Number.MAX_VALUE);
  requirePositive('clip', clip);
  const highest = rewards.reduce((high, reward) => Math.max(high, reward), -Infinity);
  const unscaled = rewards.map((reward) => Math.exp(lambda * (reward - highest)));
  const total = sum(unscaled);
  return unscaled.map((weight) => Math.min(clip, (rewards.length * weight) / total));
}

/**
 * Effective sample size of regression weights as a share of the records: (Σ w)² / (N Σ w²), in (0, 1] (Kish).
 * Below 0.2 the update rests on few records: lower λ, or widen the window. Above 0.98 the weighting does
 * nothing (the paper's constants). Null without any positive weight.
 */
export function effectiveSampleSize(weights: readonly number[]): number | null {
  for (const [i, weight] of weights.entries()) requireInRange(`weights[${i}]`, weight, 0, Number.MAX_VALUE);
  const highest = weights.reduce((high, weight) => Math.max(high, weight), 0);
  if (highest === 0) return null;
  // In units of the largest weight: squares of very small or large ones would under- or overflow.
  const scaled = weights.map((weight) => weight / highest);
  const squares = sum(scaled.map((weight) => weight ** 2));
  return Math.min(1, sum(scaled) ** 2 / (weights.length * squares));
}
