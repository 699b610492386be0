import { requireInRange, requireInteger } from './domain.ts';

/**
 * Binomial distribution: the probabilities of k = 0..n successes in n attempts that each succeed with probability p,
 * C(n, k) p^k (1-p)^(n-k), in [0, 1]. Through logarithms, so that large n neither over- nor underflows.
 */
export function binomialDistribution(n: number, p: number): number[] {
  requireInteger('n', n, 0);
  requireInRange('p', p, 0, 1);
  let logChoose = 0;
  return Array.from({ length: n + 1 }, (_, k) => {
    if (k > 0) logChoose += Math.log(n - k + 1) - Math.log(k);
    // 0 * log 0 is 0 here: no failure in no attempt is certain.
    const logSuccesses = k === 0 ? 0 : k * Math.log(p);
    const logFailures = k === n ? 0 : (n - k) * Math.log1p(-p);
    return Math.exp(logChoose + logSuccesses + logFailures);
  });
}
