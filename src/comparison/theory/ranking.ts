import { mean, range, sum } from '../../numerics/arithmetic.ts';
import { binomialDistribution } from '../../numerics/intervals.ts';
import { requireInRange, requireInteger, requirePositive, ROUNDING } from '../../numerics/preconditions.ts';
import { randomStream } from '../../numerics/random.ts';
import { distancesOfSamples, firstRate, inDrawnOrder, secondHalf, successesUpTo } from './attempt-counts.ts';
import type { Attempts, Counts } from './attempt-counts.ts';

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
 * The exact probability, in [0, 1], that n rollouts each do not show that the task with success probability
 * p1 is nearer to α than the one with p2: Pr[R_env(p̂1) <= R_env(p̂2)] over two independent binomials. Ties
 * count as wrong, as in the theorem, and R_env falls with |p̂ - α| whatever β is.
 */
export function misrankProbability(p1: number, p2: number, n: number, alpha = 0.5): number {
  requireInteger('n', n, 1);
  requireInRange('alpha', alpha, 0, 1);
  const distance = (successes: number) => Math.abs(successes / n - alpha);
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

export interface MisrankSettings {
  alpha: number;
  /** Smallest |p_far - α| - |p_near - α| of a pair that is judged. */
  minGap: number;
  /** Attempts that a ranking is made from. */
  sizes: readonly number[];
  seed: number;
  /** Orders of the attempts that are drawn. */
  orders?: number;
}

export interface Misranking {
  n: number;
  /** Pairs of tasks, and the rankings made of them. */
  pairs: number;
  rankings: number;
  /** Share of the rankings that were wrong. */
  measured: number;
  /** What the exact binomials say at p̂. */
  exact: number;
  /**
   * What it would be in the mean if the order of a task's attempts says nothing, and the range: all sizes
   * together lie in theirs in 99 % of such measurements.
   */
  expected: number;
  low: number;
  high: number;
  /** Theorem 1's bound, at most 1, in the mean of the pairs. */
  bound: number;
}

/** Of measurements that may lie outside for a size. */
const LEVEL = 0.01;

/**
 * How often n attempts rank two tasks wrongly by R_env (GenEnv, Theorem 1), in groups of tasks of one agent
 * each. The first half of a task's attempts says what p is, and so which of two tasks is nearer to α; the
 * second half is cut into disjoint samples of n, and the i-th samples of two tasks are ranked. Ties count as
 * wrong, as in the theorem.
 *
 * If attempts are independent with a p of their task's own, as the theorem asks, every order of a task's attempts
 * is as likely. So the range comes from drawn orders, each measured in the same way: that holds whatever rates
 * the tasks have and however they were chosen, as no prior of p would. Sizes for which there are too few
 * attempts are left out, and all of them if no pair is far enough apart.
 */
export function misranking(
  groups: readonly (readonly Attempts[])[],
  { alpha, minGap, sizes, seed, orders = 399 }: MisrankSettings,
): Misranking[] {
  requirePositive('minGap', minGap);
  for (const n of sizes) requireInteger('sizes', n, 1);
  const judged = groups
    .map((tasks) => tasks.map(successesUpTo))
    .filter((tasks) => pairsOf(tasks, alpha, minGap).length > 0);
  const maxSize = Math.min(...judged.flat().map(secondHalf));
  const usable = judged.length === 0 ? [] : sizes.filter((n) => n <= maxSize);
  const by = { alpha, minGap, sizes: usable };
  const random = randomStream(seed);
  const drawn = range(orders)
    .map(() =>
      wrongShares(
        judged.map((tasks) => tasks.map((task) => inDrawnOrder(task, random))),
        by,
      ),
    )
    .filter((shares) => shares.every(({ rankings }) => rankings > 0))
    .map((shares) => shares.map(({ share }) => share));
  const ranges = jointRanges(drawn, usable.length);
  const pairs = judged.flatMap((tasks) => pairsOf(tasks, alpha, minGap));
  return wrongShares(judged, by).map(({ share, rankings }, index) => {
    const n = usable[index]!;
    const meanOf = (value: (pair: Pair) => number): number => mean(pairs.map(value))!;
    return {
      n,
      pairs: pairs.length,
      rankings,
      measured: share,
      exact: meanOf(memoize(({ p1, p2 }) => misrankProbability(p1, p2, n, alpha))),
      ...(ranges[index] ?? { expected: share, low: share, high: share }),
      bound: meanOf(({ p1, p2 }) => Math.min(1, misrankBound(Math.abs(p1 - alpha), Math.abs(p2 - alpha), n))),
    };
  });
}

/**
 * Means of the drawn shares of each size, and ranges around them as wide as c standard deviations, where c is the
 * 99 % quantile of the farthest deviation over the sizes; none without draws.
 */
function jointRanges(
  drawn: readonly (readonly number[])[],
  sizes: number,
): { expected: number; low: number; high: number }[] {
  if (drawn.length < 2) return [];
  const spreads = range(sizes).map((size) => {
    const shares = drawn.map((order) => order[size]!);
    const centre = mean(shares)!;
    const squares = sum(shares.map((share) => (share - centre) ** 2));
    return { centre, deviation: Math.sqrt(squares / (shares.length - 1)) };
  });
  const farthest = drawn
    .map((order) =>
      Math.max(
        ...spreads.map(({ centre, deviation }, size) =>
          deviation === 0 ? 0 : Math.abs(order[size]! - centre) / deviation,
        ),
      ),
    )
    .sort((a, b) => a - b);
  const rank = Math.min(drawn.length, Math.ceil((1 - LEVEL) * (drawn.length + 1)));
  const width = farthest[rank - 1]!;
  return spreads.map(({ centre, deviation }) => ({
    expected: centre,
    low: Math.max(0, centre - width * deviation),
    high: Math.min(1, centre + width * deviation),
  }));
}

/** Two tasks by their place in the group, the first nearer to α, and their p̂. */
interface Pair {
  near: number;
  far: number;
  p1: number;
  p2: number;
}

function pairsOf(tasks: readonly Counts[], alpha: number, minGap: number): Pair[] {
  const rates = tasks.map(firstRate);
  return rates.flatMap((p1, near) =>
    rates.flatMap((p2, far): Pair[] =>
      Math.abs(p2 - alpha) - Math.abs(p1 - alpha) >= minGap - ROUNDING ? [{ near, far, p1, p2 }] : [],
    ),
  );
}

/**
 * The share of rankings that were wrong, and their number, for each size. In plain loops, since it is done for
 * hundreds of orders of the attempts of thousands of pairs.
 */
function wrongShares(
  groups: readonly (readonly Counts[])[],
  { alpha, minGap, sizes }: Pick<MisrankSettings, 'alpha' | 'minGap' | 'sizes'>,
): { share: number; rankings: number }[] {
  const wrong = sizes.map(() => 0);
  const rankings = sizes.map(() => 0);
  for (const tasks of groups) {
    const gaps = Float64Array.from(tasks, (task) => Math.abs(firstRate(task) - alpha));
    for (const [size, n] of sizes.entries()) {
      const distances = tasks.map((task) => distancesOfSamples(task, n, alpha));
      const [wrongOfSize, rankingsOfSize] = countWrong(gaps, distances, minGap - ROUNDING);
      wrong[size]! += wrongOfSize;
      rankings[size]! += rankingsOfSize;
    }
  }
  return sizes.map((_, size) => ({ share: wrong[size]! / rankings[size]!, rankings: rankings[size]! }));
}

function countWrong(
  gaps: Float64Array,
  distances: readonly Float64Array[],
  minGap: number,
): [wrong: number, rankings: number] {
  let [wrong, rankings] = [0, 0];
  for (let near = 0; near < gaps.length; near++) {
    const nearer = distances[near]!;
    for (let far = 0; far < gaps.length; far++) {
      if (gaps[far]! - gaps[near]! < minGap) continue;
      const farther = distances[far]!;
      const count = Math.min(nearer.length, farther.length);
      for (let i = 0; i < count; i++) if (nearer[i]! >= farther[i]! - ROUNDING) wrong += 1;
      rankings += count;
    }
  }
  return [wrong, rankings];
}

/** Tasks share their p̂, so few of the pairs' probabilities differ. */
function memoize(compute: (pair: Pair) => number): (pair: Pair) => number {
  const values = new Map<string, number>();
  return (pair) => {
    const key = `${pair.p1}/${pair.p2}`;
    const value = values.get(key) ?? compute(pair);
    values.set(key, value);
    return value;
  };
}
