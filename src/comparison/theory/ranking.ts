import { mean, range, sum } from '../../numerics/arithmetic.ts';
import { binomialDistribution } from '../../numerics/intervals.ts';
import { requireInRange, requireInteger, requirePositive, ROUNDING } from '../../numerics/preconditions.ts';
import { randomStream } from '../../numerics/random.ts';
import type { RandomStream } from '../../numerics/random.ts';
import { inHalves } from '../../numerics/spacing.ts';

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

/** Attempts at one task, each solved or not, in their order. */
export type Attempts = readonly boolean[];

export interface MisrankSettings {
  alpha: number;
  /** Smallest |p_far - α| - |p_near - α| of a pair that is judged. */
  minGap: number;
  /** Attempts that a ranking is made from. */
  sizes: readonly number[];
  seed: number;
  resamples?: number;
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
   * What they say in the mean if p is as uncertain as its estimate, and the range in which 99 % of such
   * measurements lie.
   */
  expected: number;
  low: number;
  high: number;
  /** Theorem 1's bound, at most 1, in the mean of the pairs. */
  bound: number;
}

/** 99 %: over five sizes a true binomial leaves its range at most once in 20 comparisons. */
const Z_99 = 2.5758293035489004;

/**
 * How often n attempts rank two tasks wrongly by R_env (GenEnv, Theorem 1), in groups of tasks of one agent
 * each. The first half of a task's attempts says what p is, and so which of two tasks is nearer to α; the
 * second half is cut into disjoint samples of n, and the i-th samples of two tasks are ranked. Ties count as
 * wrong, as in the theorem. The range comes from simulated second halves: p drawn from Beta(k + 1, m - k +
 * 1), the posterior of k of m successes under a uniform prior, then binomials. Sizes for which there are too
 * few attempts are left out, and all of them if no pair is far enough apart.
 */
export function misranking(
  groups: readonly (readonly Attempts[])[],
  { alpha, minGap, sizes, seed, resamples = 100 }: MisrankSettings,
): Misranking[] {
  requirePositive('minGap', minGap);
  for (const n of sizes) requireInteger('sizes', n, 1);
  const judged = groups.map((tasks) => judge(tasks, alpha, minGap)).filter(({ pairs }) => pairs.length > 0);
  const maxSize = Math.min(...judged.flatMap(({ second }) => second.map((half) => half.length)));
  const usable = judged.length === 0 ? [] : sizes.filter((n) => n <= maxSize);
  const random = randomStream(seed);
  const simulated = range(resamples).map(() => {
    const drawn = judged.map(({ pairs, second, estimates }) => ({
      pairs,
      second: estimates.map((estimate, task) => simulate(estimate, second[task]!.length, random)),
    }));
    return usable.map((n) => wrongShare(drawn, n, alpha).share);
  });
  const pairs = judged.flatMap((group) => group.pairs);
  return usable.map((n, index) => {
    const { share, rankings } = wrongShare(judged, n, alpha);
    const shares = simulated.map((resample) => resample[index]!);
    const centre = mean(shares)!;
    const squares = sum(shares.map((simulatedShare) => (simulatedShare - centre) ** 2));
    const margin = Z_99 * Math.sqrt(squares / Math.max(1, shares.length - 1));
    const meanOf = (value: (pair: Pair) => number): number => mean(pairs.map(value))!;
    return {
      n,
      pairs: pairs.length,
      rankings,
      measured: share,
      exact: meanOf(memoize(({ p1, p2 }) => misrankProbability(p1, p2, n, alpha))),
      expected: centre,
      low: Math.max(0, centre - margin),
      high: Math.min(1, centre + margin),
      bound: meanOf(({ p1, p2 }) => Math.min(1, misrankBound(Math.abs(p1 - alpha), Math.abs(p2 - alpha), n))),
    };
  });
}

/** Two tasks by their place in the group, the first nearer to α, and their p̂. */
interface Pair {
  near: number;
  far: number;
  p1: number;
  p2: number;
}
type Estimate = { successes: number; attempts: number };
type Halves = { pairs: Pair[]; second: Attempts[] };

function judge(
  tasks: readonly Attempts[],
  alpha: number,
  minGap: number,
): Halves & { estimates: Estimate[] } {
  const halves = tasks.map(inHalves);
  const estimates = halves.map(({ first }) => ({
    successes: first.filter(Boolean).length,
    attempts: first.length,
  }));
  const rates = estimates.map(({ successes, attempts }) => successes / attempts);
  const pairs = rates.flatMap((p1, near) =>
    rates.flatMap((p2, far): Pair[] =>
      Math.abs(p2 - alpha) - Math.abs(p1 - alpha) >= minGap - ROUNDING ? [{ near, far, p1, p2 }] : [],
    ),
  );
  return { pairs, estimates, second: halves.map(({ second }) => second) };
}

function wrongShare(
  groups: readonly Halves[],
  n: number,
  alpha: number,
): { share: number; rankings: number } {
  let [wrong, rankings] = [0, 0];
  for (const { pairs, second } of groups) {
    const distances = second.map((attempts) => distancesOfSamples(attempts, n, alpha));
    for (const { near, far } of pairs) {
      const [nearer, farther] = [distances[near]!, distances[far]!];
      const count = Math.min(nearer.length, farther.length);
      for (let i = 0; i < count; i++) if (nearer[i]! >= farther[i]! - ROUNDING) wrong += 1;
      rankings += count;
    }
  }
  return { share: wrong / rankings, rankings };
}

/** |k/n - α| of each of the disjoint samples of n attempts. */
function distancesOfSamples(attempts: Attempts, n: number, alpha: number): Float64Array {
  const distances = new Float64Array(Math.floor(attempts.length / n));
  for (let sample = 0; sample < distances.length; sample++) {
    let successes = 0;
    for (let i = sample * n; i < (sample + 1) * n; i++) if (attempts[i]) successes += 1;
    distances[sample] = Math.abs(successes / n - alpha);
  }
  return distances;
}

/**
 * Attempts that succeed with a p drawn from the estimate's posterior: the (k + 1)-th smallest of m + 1
 * uniform numbers is Beta(k + 1, m - k + 1).
 */
function simulate({ successes, attempts }: Estimate, count: number, random: RandomStream): boolean[] {
  const p = Float64Array.from({ length: attempts + 1 }, () => random.next()).sort()[successes]!;
  return range(count).map(() => random.next() < p);
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
