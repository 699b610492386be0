import { mean, requireCount, requireInRange, requireInteger } from './domain.ts';
import type { SuccessCount } from './success-rate.ts';

/**
 * Effective-group ratio: share of the measured groups with 0 < k < n, the only ones with a GRPO signal, in [0, 1];
 * null when none was measured. Below 0.5 a mean success rate in the band comes from trivial and impossible tasks.
 * The complement of the zero-advantage share of DAPO (Yu et al. 2025).
 */
export function effectiveGroupRatio(groups: readonly SuccessCount[]): number | null {
  for (const [i, group] of groups.entries()) requireCount(`groups[${i}]`, group);
  const measured = groups.filter(({ attempts }) => attempts > 0);
  return mean(measured.map(({ successes, attempts }) => (successes > 0 && successes < attempts ? 1 : 0)));
}

/** What to expect of a task with success probability p in groups of G: 1 - p^G - (1-p)^G, in [0, 1). */
export function expectedEffectiveGroupRatio(p: number, groupSize: number): number {
  requireInRange('p', p, 0, 1);
  requireInteger('groupSize', groupSize, 1);
  return Math.max(0, 1 - p ** groupSize - (1 - p) ** groupSize);
}
