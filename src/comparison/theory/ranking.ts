import { finishNow } from '../../async/long-computation.ts';
import type { LongComputation } from '../../async/long-computation.ts';
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
export const misranking = (
  groups: readonly (readonly Attempts[])[],
  settings: MisrankSettings,
): Misranking[] => finishNow(computeMisranking(groups, settings));

/** `misranking` as a long computation: it takes minutes for thousands of tasks. */
export function* computeMisranking(
  groups: readonly (readonly Attempts[])[],
  { alpha, minGap, sizes, seed, orders = 399 }: MisrankSettings,
): LongComputation<Misranking[]> {
  requirePositive('minGap', minGap);
  for (const n of sizes) requireInteger('sizes', n, 1);
  const judged = groups
    .map((tasks) => tasks.map(successesUpTo))
    .filter((tasks) => hasPairs(gapsOf(tasks, alpha), minGap));
  const maxSize = Math.min(...judged.map((tasks) => Math.min(...tasks.map(secondHalf))));
  const usable = judged.length === 0 ? [] : sizes.filter((n) => n <= maxSize);
  const by = { alpha, minGap, sizes: usable };
  const random = randomStream(seed);
  const drawn: number[][] = [];
  for (let order = 0; order < orders; order++) {
    const reordered: Counts[][] = [];
    for (const tasks of judged) {
      reordered.push(tasks.map((task) => inDrawnOrder(task, random)));
      yield;
    }
    const shares = yield* wrongShares(reordered, by);
    if (shares.every(({ rankings }) => rankings > 0)) drawn.push(shares.map(({ share }) => share));
  }
  const ranges = jointRanges(drawn, usable.length);
  const rows: Misranking[] = [];
  for (const [index, { share, rankings }] of (yield* wrongShares(judged, by)).entries()) {
    const n = usable[index]!;
    const distance = (rate: number): number => Math.abs(rate - alpha);
    const exact = yield* meanOverPairs(judged, by, (p1, p2) => misrankProbability(p1, p2, n, alpha));
    const bound = yield* meanOverPairs(judged, by, (p1, p2) =>
      Math.min(1, misrankBound(distance(p1), distance(p2), n)),
    );
    rows.push({
      n,
      pairs: exact.pairs,
      rankings,
      measured: share,
      exact: exact.mean,
      ...(ranges[index] ?? { expected: share, low: share, high: share }),
      bound: bound.mean,
    });
  }
  return rows;
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

const gapsOf = (tasks: readonly Counts[], alpha: number): Float64Array =>
  Float64Array.from(tasks, (task) => Math.abs(firstRate(task) - alpha));

const isFarther = (gap: number, nearerGap: number, minGap: number): boolean =>
  gap - nearerGap >= minGap - ROUNDING;

function hasPairs(gaps: Float64Array, minGap: number): boolean {
  // Of a task with one attempt no rate is known.
  const sorted = gaps.filter((gap) => !Number.isNaN(gap)).sort();
  return sorted.length > 0 && isFarther(sorted.at(-1)!, sorted[0]!, minGap);
}

/**
 * The mean of a value over the pairs of tasks, by the p̂ of the nearer and of the farther one, and the number of
 * pairs. There are millions: none is kept, and as tasks share their p̂, few values have to be computed.
 */
function* meanOverPairs(
  groups: readonly (readonly Counts[])[],
  { alpha, minGap }: Pick<MisrankSettings, 'alpha' | 'minGap'>,
  valueOf: (p1: number, p2: number) => number,
): LongComputation<{ mean: number; pairs: number }> {
  const values = new Map<number, Map<number, number>>();
  let [total, pairs] = [0, 0];
  for (const tasks of groups) {
    const rates = tasks.map(firstRate);
    const gaps = gapsOf(tasks, alpha);
    for (const [near, p1] of rates.entries()) {
      const row = values.get(p1) ?? new Map<number, number>();
      values.set(p1, row);
      for (const [far, p2] of rates.entries()) {
        if (!isFarther(gaps[far]!, gaps[near]!, minGap)) continue;
        let value = row.get(p2);
        if (value === undefined) {
          value = valueOf(p1, p2);
          row.set(p2, value);
          yield;
        }
        total += value;
        pairs += 1;
      }
      yield;
    }
  }
  return { mean: total / pairs, pairs };
}

/**
 * The share of rankings that were wrong, and their number, for each size. In plain loops, since it is done for
 * hundreds of orders of the attempts of thousands of pairs.
 */
function* wrongShares(
  groups: readonly (readonly Counts[])[],
  { alpha, minGap, sizes }: Pick<MisrankSettings, 'alpha' | 'minGap' | 'sizes'>,
): LongComputation<{ share: number; rankings: number }[]> {
  const wrong = sizes.map(() => 0);
  const rankings = sizes.map(() => 0);
  for (const tasks of groups) {
    const gaps = gapsOf(tasks, alpha);
    for (const [size, n] of sizes.entries()) {
      const distances = tasks.map((task) => distancesOfSamples(task, n, alpha));
      for (let near = 0; near < gaps.length; near++) {
        const [wrongOfTask, rankingsOfTask] = countWrong(near, gaps, distances, minGap);
        wrong[size]! += wrongOfTask;
        rankings[size]! += rankingsOfTask;
        yield;
      }
    }
  }
  return sizes.map((_, size) => ({ share: wrong[size]! / rankings[size]!, rankings: rankings[size]! }));
}

/** Of the pairs in which a task is the nearer one. */
function countWrong(
  near: number,
  gaps: Float64Array,
  distances: readonly Float64Array[],
  minGap: number,
): [wrong: number, rankings: number] {
  let [wrong, rankings] = [0, 0];
  const nearer = distances[near]!;
  for (let far = 0; far < gaps.length; far++) {
    if (!isFarther(gaps[far]!, gaps[near]!, minGap)) continue;
    const farther = distances[far]!;
    const count = Math.min(nearer.length, farther.length);
    for (let i = 0; i < count; i++) if (nearer[i]! >= farther[i]! - ROUNDING) wrong += 1;
    rankings += count;
  }
  return [wrong, rankings];
}
