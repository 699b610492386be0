import { mean, sum } from './arithmetic.ts';
import { binomialDistribution } from './intervals.ts';
import { requireCount, requireFinite, requireInteger, requireSameLength, ROUNDING } from './preconditions.ts';

/** Tasks by which agent is better on them, and `p`: the chance of so many or more being worse, in (0, 1]. */
export type PairedTest = { better: number; worse: number; tied: number; p: number };

/**
 * Exact one-sided sign test of "the second agent is not worse", on pairs: mean rewards of two agents on the
 * same tasks with the same seeds. Of the n tasks on which they differ, the number that got worse is
 * Binomial(n, 1/2) at most, so p = P(X >= worse) = Σ_{k >= worse} C(n, k) / 2^n; equal tasks say nothing and
 * are left out. Dixon & Mood 1946, "The statistical sign test"; with one attempt a task it is the exact form
 * of McNemar 1947. A task is one pair however often it is attempted, since attempts at one task are not
 * independent; nothing is assumed of how much tasks differ.
 */
export function pairedTest(before: readonly number[], after: readonly number[]): PairedTest {
  requireSameLength('before', before.length, 'after', after.length);
  let [better, worse] = [0, 0];
  for (const [i, reward] of before.entries()) {
    const difference = (after[i] ?? NaN) - reward;
    requireFinite(`after[${i}] - before[${i}]`, difference);
    if (difference > ROUNDING) better++;
    if (difference < -ROUNDING) worse++;
  }
  const tail = sum(binomialDistribution(better + worse, 0.5).slice(worse));
  return { better, worse, tied: before.length - better - worse, p: worse === 0 ? 1 : Math.min(1, tail) };
}

/**
 * Cases by who is right, and `p`: the chance of so uneven a split of those on which the two differ, in (0,
 * 1].
 */
export type McNemar = { both: number; onlyFirst: number; onlySecond: number; neither: number; p: number };

/**
 * Exact two-sided McNemar test on pairs of verdicts: of the n cases on which the two differ, the number that
 * only the first has right is Binomial(n, 1/2) if neither is better, so p = min(1, 2 P(X <= min)). McNemar
 * 1947.
 */
export function mcNemar(pairs: readonly { first: boolean; second: boolean }[]): McNemar {
  const count = (first: boolean, second: boolean): number =>
    pairs.filter((pair) => pair.first === first && pair.second === second).length;
  const [onlyFirst, onlySecond] = [count(true, false), count(false, true)];
  const distribution = binomialDistribution(onlyFirst + onlySecond, 0.5);
  const tail = sum(distribution.slice(0, Math.min(onlyFirst, onlySecond) + 1));
  return {
    both: count(true, true),
    onlyFirst,
    onlySecond,
    neither: count(false, false),
    p: Math.min(1, 2 * tail),
  };
}

/**
 * Spearman's rank correlation of two lists, in [-1, 1]: Pearson's of the ranks, ties at their mean rank. Null
 * below two values, and where one list has no two different values.
 */
export function rankCorrelation(left: readonly number[], right: readonly number[]): number | null {
  requireSameLength('left', left.length, 'right', right.length);
  const [a, b] = [ranks('left', left), ranks('right', right)];
  const middle = mean(a);
  if (middle === null) return null;
  const product = (x: readonly number[], y: readonly number[]): number =>
    sum(x.map((value, i) => (value - middle) * (y[i]! - middle)));
  const spread = Math.sqrt(product(a, a) * product(b, b));
  return spread === 0 ? null : product(a, b) / spread;
}

function ranks(name: string, values: readonly number[]): number[] {
  for (const [i, value] of values.entries()) requireFinite(`${name}[${i}]`, value);
  return values.map((value) => {
    const below = values.filter((candidate) => candidate < value).length;
    const equal = values.filter((candidate) => candidate === value).length;
    return below + (equal + 1) / 2;
  });
}

/**
 * Probability, in [0, 1], that at least one of k attempts at a task succeeds: 1 - C(n - c, k) / C(n, k) for c
 * successes of n >= k attempts that were made, without bias. Chen et al. 2021 (arXiv 2107.03374), eq. 1, as a
 * product, whose factors stay small.
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
