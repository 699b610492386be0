import type { SuccessCount } from '../numerics/intervals.ts';
import { requireInRange } from '../numerics/preconditions.ts';

export type SuccessRate = SuccessCount & { rate: number | null };

/**
 * Success rate p̂ = k / n, in [0, 1]: k counts the rewards of at least `threshold`, n all of them. GenEnv eq.
 * (2). `rewards` (each in [0, 1]) holds those of one task, or of all variations of one seed prompt if p̂
 * is taken over a batch. A rollout that failed for infrastructure reasons has no reward and is left out by
 * the caller: it is never a zero. Without any attempt the rate is null: not measured.
 */
export function successRate(rewards: readonly number[], threshold = 1): SuccessRate {
  requireInRange('threshold', threshold, 0, 1);
  let successes = 0;
  for (const [i, reward] of rewards.entries()) {
    requireInRange(`rewards[${i}]`, reward, 0, 1);
    if (reward >= threshold) successes++;
  }
  const attempts = rewards.length;
  return { successes, attempts, rate: attempts === 0 ? null : successes / attempts };
}
