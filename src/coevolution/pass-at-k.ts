import { requireCount, requireInteger } from './domain.ts';

/**
 * Probability, in [0, 1], that at least one of k attempts at a task succeeds: 1 - C(n - c, k) / C(n, k) for c successes of n >= k attempts
 * that were made, without bias. Chen et al. 2021 (arXiv 2107.03374), eq. 1, as a product, whose factors stay small.
 */
export function passAtK(count: { successes: number; attempts: number }, k: number): number {
  requireCount('count', count);
  const { successes, attempts } = count;
  requireInteger('k', k, 1, attempts);
  let allFail = 1;
  for (let drawn = 0; drawn < k; drawn++)
    allFail *= Math.max(0, attempts - successes - drawn) / (attempts - drawn);
  return 1 - allFail;
}
