/** What an epoch of rollouts can teach: signal of its groups, agreement, reliability, learning progress. */
import { mean, sum } from '../numerics/arithmetic.ts';
import type { SuccessCount } from '../numerics/intervals.ts';
import {
  requireCount,
  requireFinite,
  requireInRange,
  requireInteger,
  requireSameLength,
  ROUNDING,
} from '../numerics/preconditions.ts';

/**
 * Effective-group ratio: share of the measured groups with 0 < k < n, the only ones with a GRPO signal, in
 * [0, 1]; null when none was measured. Below 0.5 a mean success rate in the band comes from trivial and
 * impossible tasks. The complement of the zero-advantage share of DAPO (Yu et al. 2025).
 */
export function effectiveGroupRatio(groups: readonly SuccessCount[]): number | null {
  for (const [i, group] of groups.entries()) requireCount(`groups[${i}]`, group);
  const measured = groups.filter(({ attempts }) => attempts > 0);
  return mean(measured.map(({ successes, attempts }) => (successes > 0 && successes < attempts ? 1 : 0)));
}

/** Expected ratio of tasks with success probability p in groups of G: 1 - p^G - (1-p)^G, in [0, 1). */
export function expectedEffectiveGroupRatio(p: number, groupSize: number): number {
  requireInRange('p', p, 0, 1);
  requireInteger('groupSize', groupSize, 1);
  return Math.max(0, 1 - p ** groupSize - (1 - p) ** groupSize);
}

/**
 * Mean signal of tasks: S = mean_i 4 p̂_i (1 - p̂_i) n / (n - 1), the unbiased estimate of 4p(1-p), which
 * bounds the squared policy gradient (GenEnv, Prop. 1) and is VCRL's normalised variance (2509.19803). 0
 * if all tasks are solved always or never, 1 in expectation at p = 0.5; a single task reaches n / (n - 1).
 * Tasks with fewer than two attempts have no estimate; null when that is all. Far below R_env of the mean
 * rate: the batch is bimodal.
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

/**
 * Agreement of two verdicts on the same answers: share of exactly equal rewards, in [0, 1]; null without
 * answers. Anything below 1 is a checker that is not deterministic. (Eight answers scored twice betray a fair
 * coin with probability 1 - 2^-8 = 99.6 %.)
 */
export function verdictAgreement(first: readonly number[], second: readonly number[]): number | null {
  requireSameLength('first', first.length, 'second', second.length);
  let equal = 0;
  for (const [i, verdict] of first.entries()) {
    const repeated = second[i] ?? NaN;
    requireFinite(`first[${i}]`, verdict);
    requireFinite(`second[${i}]`, repeated);
    if (verdict === repeated) equal++;
  }
  return first.length === 0 ? null : equal / first.length;
}

/**
 * Split-half reliability of the tasks' success rates: r correlates (Pearson), over tasks, the mean reward of
 * the attempts with even index and of those with odd index; Spearman-Brown 2r / (1 + r) gives the reliability
 * of all attempts together. At most 1; about 0 means that tasks do not differ in difficulty (a coin decides,
 * or all are alike); a negative value, which has no lower bound, is noise and reads as 0.
 *
 * `rewards` has one list a task, in the order of the attempts; tasks with fewer than two have no halves and
 * are left out. Null if it is undefined: fewer than two tasks, a half in which all tasks score alike, or r
 * = -1.
 */
export function splitHalfReliability(rewards: readonly (readonly number[])[]): number | null {
  for (const [task, attempts] of rewards.entries()) {
    for (const [i, reward] of attempts.entries()) requireFinite(`rewards[${task}][${i}]`, reward);
  }
  const halves = rewards
    .filter((attempts) => attempts.length >= 2)
    .map((attempts) => ({ even: halfMean(attempts, 0), odd: halfMean(attempts, 1) }));
  const r = correlation(
    halves.map(({ even }) => even),
    halves.map(({ odd }) => odd),
  );
  return r === null || 1 + r < ROUNDING ? null : (2 * r) / (1 + r);
}

function halfMean(attempts: readonly number[], parity: 0 | 1): number {
  return mean(attempts.filter((_, i) => i % 2 === parity)) ?? 0;
}

function correlation(left: readonly number[], right: readonly number[]): number | null {
  const leftMean = mean(left) ?? 0;
  const rightMean = mean(right) ?? 0;
  const sumOver = (term: (x: number, y: number) => number) =>
    sum(left.map((x, i) => term(x - leftMean, (right[i] ?? 0) - rightMean)));
  const leftSpread = sumOver((x) => x * x);
  const rightSpread = sumOver((_, y) => y * y);
  // Equal values leave rounding errors, not zeros, behind.
  if (leftSpread < ROUNDING ** 2 || rightSpread < ROUNDING ** 2) return null;
  return Math.max(-1, Math.min(1, sumOver((x, y) => x * y) / Math.sqrt(leftSpread * rightSpread)));
}

/** By family: fast and slow moving averages of its success rate, each in [0, 1]. */
export type ProgressState = Record<string, { fast: number; slow: number }>;

/** Weights of the newest rate, 0 < slow < fast <= 1: about two epochs and ten epochs of memory. */
export type ProgressRates = { fast: number; slow: number };

export const PROGRESS_RATES: ProgressRates = { fast: 0.5, slow: 0.1 };

/**
 * One epoch of learning progress: each family's averages move towards its success rate p by their weight, ema
 * += weight (p - ema); a family seen first starts at p in both, one not measured (null, or absent) stays as
 * it is. A pure fold, keys in code-unit order. LP_f = fast - slow, after Graves et al. 2017 and Kanitscheider
 * et al. 2021.
 */
export function updateLearningProgress(
  state: ProgressState,
  rates: Readonly<Record<string, number | null>>,
  { fast, slow }: ProgressRates = PROGRESS_RATES,
): ProgressState {
  requireInRange('fast', fast, 0, 1);
  if (!(slow > 0 && slow < fast)) throw new RangeError(`slow must be in (0, fast = ${fast}), got ${slow}`);
  const next = new Map(Object.entries(state));
  for (const [family, rate] of Object.entries(rates)) {
    if (rate === null) continue;
    requireInRange(`rates.${family}`, rate, 0, 1);
    const before = next.get(family) ?? { fast: rate, slow: rate };
    next.set(family, {
      fast: before.fast + fast * (rate - before.fast),
      slow: before.slow + slow * (rate - before.slow),
    });
  }
  return sorted(next);
}

/**
 * Learning progress by family: fast - slow, in [-1, 1]. Above 0 the agent improves on it, about 0 it has
 * mastered it or learns nothing (noise), below 0 it forgets. Success on tasks that get harder hides progress:
 * read it next to the difficulty.
 */
export function learningProgress(state: ProgressState): Record<string, number> {
  return sorted(new Map(Object.entries(state).map(([family, { fast, slow }]) => [family, fast - slow])));
}

function sorted<V>(entries: Map<string, V>): Record<string, V> {
  return Object.fromEntries([...entries].sort(([left], [right]) => (left < right ? -1 : 1)));
}
