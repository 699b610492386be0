import { mean, requireCount } from './domain.ts';
import type { SuccessCount } from './success-rate.ts';

/**
 * Mean signal of tasks: S = mean_i 4 p̂_i (1 - p̂_i) n / (n - 1), the unbiased estimate of 4p(1-p), which bounds the
 * squared policy gradient (GenEnv, Prop. 1) and is VCRL's normalised variance (2509.19803). 0 where all tasks are
 * solved always or never, 1 in expectation at p = 0.5; a single task reaches n / (n - 1). Tasks with fewer than two
 * attempts have no estimate; null when that is all. Far below R_env of the mean rate: the batch is bimodal.
 */
export function signalScore(groups: readonly SuccessCount[]): number | null {
  for (const [i, group] of groups.entries()) requireCount(`groups[${i}]`, group);
  return mean(
    groups
      .filter(({ attempts }) => attempts >= 2)
      .map(
        ({ successes, attempts }) => (4 * successes * (attempts - successes)) / (attempts * (attempts - 1)),
      ),
  );
}
