import { binomialDistribution } from '../coevolution/binomial.ts';

/** Cases by who is right, and `p`: how likely so uneven a split of those on which the two differ is by chance, in (0, 1]. */
export type McNemar = { both: number; onlyFirst: number; onlySecond: number; neither: number; p: number };

/**
 * Exact two-sided McNemar test on pairs of verdicts: of the n cases on which the two differ, the number that only the first has right is
 * Binomial(n, 1/2) if neither is better, so p = min(1, 2 P(X <= min)). McNemar 1947.
 */
export function mcNemar(pairs: readonly { first: boolean; second: boolean }[]): McNemar {
  const count = (first: boolean, second: boolean): number =>
    pairs.filter((pair) => pair.first === first && pair.second === second).length;
  const [onlyFirst, onlySecond] = [count(true, false), count(false, true)];
  const tail = binomialDistribution(onlyFirst + onlySecond, 0.5).slice(
    0,
    Math.min(onlyFirst, onlySecond) + 1,
  );
  return {
    both: count(true, true),
    onlyFirst,
    onlySecond,
    neither: count(false, false),
    p: Math.min(1, 2 * tail.reduce((sum, share) => sum + share, 0)),
  };
}
