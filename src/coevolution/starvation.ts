import { requireFinite, requireInRange, requireInteger } from './domain.ts';

/**
 * Whether the rewards of the simulator's records say nothing about which of them to prefer: they span less than `minSpread`, or
 * there are none. Regression on such records is imitation of oneself, and AdamW turns its near-zero gradients into full steps: in a
 * pilot the simulator drifted without direction while every task was failed (coevolution.md, section 3). In [0, 1].
 */
export function flatRewards(rewards: readonly number[], minSpread: number): boolean {
  requireInRange('minSpread', minSpread, 0, 1);
  for (const [i, reward] of rewards.entries()) requireFinite(`rewards[${i}]`, reward);
  return (
    rewards.length === 0 ||
    rewards.reduce((a, b) => Math.max(a, b)) - rewards.reduce((a, b) => Math.min(a, b)) < minSpread
  );
}

/**
 * Epochs in a row in which the simulator had nothing to learn from: no record accepted, or all alike. The paper's filter starved it for
 * 45 of 90 epochs from a hard start (coevolution.md 1.7).
 */
export function starvedEpochs(before: number, rewards: readonly number[], minSpread: number): number {
  requireInteger('before', before, 0);
  return flatRewards(rewards, minSpread) ? before + 1 : 0;
}
