import { sum } from '../numerics/arithmetic.ts';
import { wilsonInterval } from '../numerics/intervals.ts';
import type { SuccessCount } from '../numerics/intervals.ts';
import {
  requireCount,
  requireFinite,
  requireInRange,
  requireInteger,
  requireSameLength,
  ROUNDING,
} from '../numerics/preconditions.ts';

/**
 * Discrimination of a task: success rate of the agent minus that of a random policy on it, in [-1, 1]; null
 * if one of them was not measured. About 0 inside the band: luck decides, and there is nothing to learn.
 */
export function discrimination(agentRate: number | null, randomRate: number | null): number | null {
  if (agentRate === null || randomRate === null) return null;
  requireInRange('agentRate', agentRate, 0, 1);
  requireInRange('randomRate', randomRate, 0, 1);
  return agentRate - randomRate;
}

/**
 * Guard on the reward of the simulator: 1 if the discrimination is above `minimum` (in [0, 1)), else 0. A gap
 * that was not measured does not pass: a guard must not open when its evidence is missing.
 */
export function discriminationGate(gap: number | null, minimum = 0): 0 | 1 {
  requireInRange('minimum', minimum, 0, 1);
  if (gap === null) return 0;
  requireInRange('gap', gap, -1, 1);
  return gap > minimum ? 1 : 0;
}

/**
 * Caps the share of the regression weight that one family of tasks holds, by default at half: a simulator
 * that found one coin-flip tool moved 96 % of its tasks onto it. Weights of a family above the cap are scaled
 * down alike until its share of what remains is `maxShare`; others are left as they are. Weights >= 0.
 *
 * With F families that have weight, no share can be below 1/F: a lower cap makes them equal, and a lone
 * family stays as it is, since regression divides by the sum of the weights.
 */
export function capFamilies(
  weights: readonly number[],
  families: readonly string[],
  maxShare = 0.5,
): number[] {
  requireSameLength('weights', weights.length, 'families', families.length);
  requireInRange('maxShare', maxShare, 0, 1);
  const totals = new Map<string, number>();
  for (const [i, weight] of weights.entries()) {
    requireInRange(`weights[${i}]`, weight, 0, Number.MAX_VALUE);
    const family = families[i] ?? '';
    totals.set(family, (totals.get(family) ?? 0) + weight);
  }
  const cap = cappedTotal([...totals.values()], maxShare);
  return weights.map((weight, i) => {
    const total = totals.get(families[i] ?? '') ?? 0;
    return total > cap ? weight * (cap / total) : weight;
  });
}

/** The total c that families above it are scaled to: c = s (m c + the rest), for the m largest families. */
function cappedTotal(totals: readonly number[], maxShare: number): number {
  const falling = totals.filter((total) => total > 0).sort((left, right) => right - left);
  for (let capped = 0; capped < falling.length - 1; capped++) {
    const uncapped = sum(falling.slice(capped));
    const cap = (maxShare * uncapped) / (1 - capped * maxShare);
    if ((falling[capped] ?? 0) <= cap * (1 + ROUNDING)) return cap;
  }
  // All but the smallest are above the cap: it stays, and they come down to it, or as near as the cap allows.
  const smallest = falling.at(-1) ?? 0;
  return Math.max(smallest, (maxShare * smallest) / (1 - (falling.length - 1) * maxShare));
}

/**
 * Whether the rewards of the simulator's records say nothing about which of them to prefer: they span less
 * than `minSpread`, or there are none. Regression on such records is imitation of oneself, and AdamW turns
 * its near-zero gradients into full steps: in a pilot the simulator drifted without direction while every
 * task was failed. In [0, 1].
 */
export function hasFlatRewards(rewards: readonly number[], minSpread: number): boolean {
  requireInRange('minSpread', minSpread, 0, 1);
  for (const [i, reward] of rewards.entries()) requireFinite(`rewards[${i}]`, reward);
  if (rewards.length === 0) return true;
  const highest = rewards.reduce((a, b) => Math.max(a, b));
  const lowest = rewards.reduce((a, b) => Math.min(a, b));
  return highest - lowest < minSpread;
}

/**
 * The span that the simulator's records must have in reward for an update; null if none is wanted. A threshold on them
 * keeps what is near α, so all rewards of what it keeps may be alike. The other filters keep a share of any
 * records: if those are alike, they teach something only if all of them are at α.
 */
export function leastRewardSpread(
  {
    filter,
    guards,
  }: {
    filter: { type: string; appliesTo?: readonly string[] };
    guards: { flatRewards?: number | null | undefined };
  },
  rewards: readonly number[],
): number | null {
  const minSpread = guards.flatRewards ?? null;
  if (minSpread === null || filter.type === 'off' || !filter.appliesTo?.includes('environment'))
    return minSpread;
  return filter.type === 'threshold' || rewards.every((reward) => reward > 1 - minSpread) ? null : minSpread;
}

/**
 * Epochs in a row in which the simulator had nothing to learn from: no record accepted, or all alike. The
 * paper's filter starved it for 45 of 90 epochs from a hard start.
 */
export function starvedEpochs(before: number, rewards: readonly number[], minSpread: number): number {
  requireInteger('before', before, 0);
  return hasFlatRewards(rewards, minSpread) ? before + 1 : 0;
}

/**
 * Whether an agent has forgotten: the upper end of the 95 % interval of its success on the anchor set is
 * below the best success there so far, minus the allowed loss (`drop`, in [0, 1]). The anchor set is never
 * seen by the simulator and is not the held-out set. With 128 tasks about ten points must be gone at p = 0.5
 * before this acts: a gate for collapses, not for noise.
 */
export function isForgetting(now: SuccessCount, best: SuccessCount, drop: number): boolean {
  requireCount('now', now);
  requireCount('best', best);
  requireInRange('drop', drop, 0, 1);
  if (now.attempts === 0 || best.attempts === 0) return false;
  return wilsonInterval(now).high < best.successes / best.attempts - drop;
}

/** The better of two counts. */
export const better = (left: SuccessCount, right: SuccessCount): SuccessCount =>
  left.successes * right.attempts >= right.successes * left.attempts ? left : right;
