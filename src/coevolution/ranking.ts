import { binomialDistribution } from './binomial.ts';
import { ROUNDING, requireInRange, requireInteger } from './domain.ts';

/**
 * GenEnv, Theorem 1: an upper bound on the probability that n rollouts rank two tasks wrongly,
 * 4 exp(-(2/9) (Δ2 - Δ1)² n), where Δ_i = |p_i - α| and Δ1 < Δ2; in (0, 4], so above 1 it says nothing
 * (p = 0.5 against 0.9 needs n >= 124 for 0.05). Report `misrankProbability`, which is exact.
 */
export function misrankBound(delta1: number, delta2: number, n: number): number {
  requireInRange('delta1', delta1, 0, 1);
  requireInRange('delta2', delta2, delta1, 1);
  requireInteger('n', n, 1);
  return 4 * Math.exp(-(2 / 9) * (delta2 - delta1) ** 2 * n);
}

/**
 * The exact probability, in [0, 1], that n rollouts each do not show that the task with success probability p1 is
 * nearer to α than the one with p2: Pr[R_env(p̂1) <= R_env(p̂2)] over two independent binomials. Ties count as wrong,
 * as in the theorem, and R_env falls with |p̂ - α| whatever β is.
 */
export function misrankProbability(p1: number, p2: number, n: number, alpha = 0.5): number {
  requireInteger('n', n, 1);
  requireInRange('alpha', alpha, 0, 1);
  const distance = (k: number) => Math.abs(k / n - alpha);
  const first = binomialDistribution(n, p1);
  const second = binomialDistribution(n, p2);
  let wrong = 0;
  for (const [k1, share1] of first.entries()) {
    for (const [k2, share2] of second.entries()) {
      if (distance(k1) >= distance(k2) - ROUNDING) wrong += share1 * share2;
    }
  }
  return Math.min(1, wrong);
}
