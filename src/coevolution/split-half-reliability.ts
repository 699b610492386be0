import { ROUNDING, mean, requireFinite } from './domain.ts';

/**
 * Split-half reliability of the tasks' success rates: r correlates (Pearson), over tasks, the mean reward of the
 * attempts with even index and of those with odd index; Spearman-Brown 2r / (1 + r) gives the reliability of all
 * attempts together. At most 1; about 0 means that tasks do not differ in difficulty (a coin decides, or all are
 * alike); a negative value, which has no lower bound, is noise and reads as 0.
 *
 * `rewards` has one list a task, in the order of the attempts; tasks with fewer than two have no halves and are left
 * out. Null where it is undefined: fewer than two tasks, a half in which all tasks score alike, or r = -1.
 */
export function splitHalfReliability(rewards: readonly (readonly number[])[]): number | null {
  for (const [task, attempts] of rewards.entries()) {
    for (const [i, reward] of attempts.entries()) requireFinite(`rewards[${task}][${i}]`, reward);
  }
  const halves = rewards
    .filter((attempts) => attempts.length >= 2)
    .map((attempts) => ({ even: halfMean(attempts, 0), odd: halfMean(attempts, 1) }));
  const r = correlation(
    halves.map(({ even }) => even),
    halves.map(({ odd }) => odd),
  );
  return r === null || 1 + r < ROUNDING ? null : (2 * r) / (1 + r);
}

function halfMean(attempts: readonly number[], parity: 0 | 1): number {
  return mean(attempts.filter((_, i) => i % 2 === parity)) ?? 0;
}

function correlation(left: readonly number[], right: readonly number[]): number | null {
  const leftMean = mean(left) ?? 0;
  const rightMean = mean(right) ?? 0;
  const sumOver = (term: (x: number, y: number) => number) =>
    left.reduce((sum, x, i) => sum + term(x - leftMean, (right[i] ?? 0) - rightMean), 0);
  const leftSpread = sumOver((x) => x * x);
  const rightSpread = sumOver((_, y) => y * y);
  // Equal values leave rounding errors, not zeros, behind.
  if (leftSpread < ROUNDING ** 2 || rightSpread < ROUNDING ** 2) return null;
  return Math.max(-1, Math.min(1, sumOver((x, y) => x * y) / Math.sqrt(leftSpread * rightSpread)));
}
