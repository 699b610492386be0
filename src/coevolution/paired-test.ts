import { binomialDistribution } from './binomial.ts';
import { requireFinite, requireSameLength, ROUNDING } from './domain.ts';

/** Tasks by which agent does better on them, and `p`: how likely so many or more are worse by chance, in (0, 1]. */
export type PairedTest = { better: number; worse: number; tied: number; p: number };

/**
 * Exact one-sided sign test of "the second agent is not worse", on pairs: mean rewards of two agents on the same tasks with the
 * same seeds. Of the n tasks on which they differ, the number that got worse is Binomial(n, 1/2) at most, so
 * p = P(X >= worse) = Σ_{k >= worse} C(n, k) / 2^n; equal tasks say nothing and are left out. Dixon & Mood 1946, "The statistical sign
 * test"; with one attempt a task it is the exact form of McNemar 1947. A task is one pair however often it is attempted, since
 * attempts at one task are not independent; nothing is assumed of how much tasks differ.
 */
export function pairedTest(before: readonly number[], after: readonly number[]): PairedTest {
  requireSameLength('before', before.length, 'after', after.length);
  let [better, worse] = [0, 0];
  for (const [i, old] of before.entries()) {
    const difference = (after[i] ?? NaN) - old;
    requireFinite(`after[${i}] - before[${i}]`, difference);
    if (difference > ROUNDING) better++;
    if (difference < -ROUNDING) worse++;
  }
  const tail = binomialDistribution(better + worse, 0.5)
    .slice(worse)
    .reduce((sum, share) => sum + share, 0);
  return { better, worse, tied: before.length - better - worse, p: worse === 0 ? 1 : Math.min(1, tail) };
}
