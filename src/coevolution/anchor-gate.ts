import { requireCount, requireInRange } from './domain.ts';
import type { SuccessCount } from './success-rate.ts';
import { wilsonInterval } from './wilson-interval.ts';

/**
 * Whether an agent has forgotten: the upper end of the 95 % interval of its success on the anchor set is below the best success there
 * so far, less what may be lost (`drop`, in [0, 1]). The anchor set is never seen by the simulator and is not the held-out set. With
 * 128 tasks about ten points must be gone at p = 0.5 before this acts: a gate for collapses, not for noise.
 */
export function hasForgotten(now: SuccessCount, best: SuccessCount, drop: number): boolean {
  requireCount('now', now);
  requireCount('best', best);
  requireInRange('drop', drop, 0, 1);
  if (now.attempts === 0 || best.attempts === 0) return false;
  return wilsonInterval(now).high < best.successes / best.attempts - drop;
}

/** The better of two counts. */
export const better = (left: SuccessCount, right: SuccessCount): SuccessCount =>
  left.successes * right.attempts >= right.successes * left.attempts ? left : right;
