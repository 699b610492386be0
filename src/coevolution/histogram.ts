import { requireCount, requireInteger } from './domain.ts';
import type { SuccessCount } from './success-rate.ts';

export type SuccessHistogram = {
  /** counts[k]: groups with k successes of n, for k = 0..n. */
  counts: number[];
  /** Groups with another number of attempts than n (some rollouts errored): on no bin of this histogram. */
  incomplete: number;
};

/** Histogram of the groups' success rates in the n + 1 values that n attempts can give. */
export function successHistogram(groups: readonly SuccessCount[], n: number): SuccessHistogram {
  requireInteger('n', n, 1);
  const counts = Array<number>(n + 1).fill(0);
  let incomplete = 0;
  for (const [i, { successes, attempts }] of groups.entries()) {
    requireCount(`groups[${i}]`, { successes, attempts });
    if (attempts === n) counts[successes] = (counts[successes] ?? 0) + 1;
    else incomplete++;
  }
  return { counts, incomplete };
}
