import { distance as editDistance } from 'fastest-levenshtein';
import { TimeSlices } from '../async/time-slices.ts';
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
 * Share of distinct tasks in a batch, in (0, 1]: distinct signatures over all of them; null for an empty
 * batch. 1 is no proof of variety (the same skill in new words is distinct too); a fall is a proof of
 * collapse.
 */
export function distinctShare(signatures: readonly string[]): number | null {
  return signatures.length === 0 ? null : new Set(signatures).size / signatures.length;
}

/** Entries of the archive that a batch is compared with, the newest. */
export const ARCHIVE_CAPACITY = 512;

/**
 * Novelty of a batch: the mean over its tasks of the edit distance to the nearest task of the archive, in [0,
 * 1]; 0 when all are repeats, null if batch or archive is empty. `archive` is oldest first; only its
 * newest `capacity` distinct entries count, so the cost grows with the batch and not with the run: batch x
 * capacity x length² / 32, where a length above `MAX_COMPARED` counts as that. Give it the worlds' canonical
 * texts, not rendered prompts. After the novelty terms of R-Zero (2508.05004) and POET.
 */
export async function archiveDistance(
  batch: readonly string[],
  archive: readonly string[],
  { capacity = ARCHIVE_CAPACITY, slices = new TimeSlices() }: { capacity?: number; slices?: TimeSlices } = {},
): Promise<number | null> {
  requireInteger('capacity', capacity, 1);
  const newest = [...new Set(archive.toReversed())].slice(0, capacity);
  if (newest.length === 0) return null;
  const archived = new Set(newest);
  const distances: number[] = [];
  for (const task of batch) {
    let nearest = archived.has(task) ? 0 : Infinity;
    for (const entry of nearest === 0 ? [] : newest) {
      nearest = Math.min(nearest, normalisedEditDistance(task, entry));
      if (slices.isOver) await slices.next();
    }
    distances.push(nearest);
  }
  return mean(distances);
}

/** Characters of a text that an edit distance compares, after what two texts begin and end with alike. */
export const MAX_COMPARED = 2_000;

/**
 * Levenshtein distance over the longer length, in UTF-16 code units: 0 for equal texts only, at most 1. Texts that
 * differ over more than `MAX_COMPARED` units are taken to differ as much as the first of these do: the distance
 * of two texts of 20,000 would take 0.14 s, and a batch has thousands of pairs.
 */
export function normalisedEditDistance(left: string, right: string): number {
  const longest = Math.max(left.length, right.length);
  if (longest <= MAX_COMPARED) return longest === 0 ? 0 : editDistance(left, right) / longest;
  const [leftDifference, rightDifference] = differingParts(left, right);
  const differing = Math.max(leftDifference.length, rightDifference.length);
  const edits = editDistance(leftDifference.slice(0, MAX_COMPARED), rightDifference.slice(0, MAX_COMPARED));
  const compared = Math.min(differing, MAX_COMPARED);
  // A product of integers, so that it cannot be above 1 by a rounding error.
  return compared === 0 ? 0 : (edits * differing) / (compared * longest);
}

/** Two texts without the characters that both begin with, and then those that both end with. */
function differingParts(left: string, right: string): [string, string] {
  const shorter = Math.min(left.length, right.length);
  let start = 0;
  while (start < shorter && left.charCodeAt(start) === right.charCodeAt(start)) start++;
  let end = 0;
  while (
    end < shorter - start &&
    left.charCodeAt(left.length - 1 - end) === right.charCodeAt(right.length - 1 - end)
  )
    end++;
  return [left.slice(start, left.length - end), right.slice(start, right.length - end)];
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

/** The zone of proximal development, both ends included. */
export type Band = { low: number; high: number };

/** The band of GenEnv's figures (4d, 5c, 7): success in [0.4, 0.6]. */
export const TARGET_BAND: Band = { low: 0.4, high: 0.6 };

export function isInBand(rate: number, band: Band = TARGET_BAND): boolean {
  requireInRange('band.low', band.low, 0, 1);
  requireInRange('band.high', band.high, band.low, 1);
  return rate >= band.low - ROUNDING && rate <= band.high + ROUNDING;
}

/**
 * Share of the measured success rates (null: not measured) that lie in the band, in [0, 1]; null when none
 * was measured. A mean in the band says less: half trivial and half impossible has mean 0.5 and share 0.
 */
export function inBandShare(rates: readonly (number | null)[], band: Band = TARGET_BAND): number | null {
  requireRates('rates', rates);
  const measured = rates.filter((rate) => rate !== null);
  return mean(measured.map((rate) => (isInBand(rate, band) ? 1 : 0)));
}

/**
 * Calibration error: mean of |p̂ − α| over the measured success rates (null: not measured), in [0, 1]; null if
 * none was measured. Noise alone keeps it above 0: with p = α = 0.5 for every task and n = 8 rollouts its mean
 * is 0.137.
 */
export function calibrationError(rates: readonly (number | null)[], alpha: number): number | null {
  requireRates('rates', rates);
  requireInRange('alpha', alpha, 0, 1);
  const measured = rates.filter((rate) => rate !== null);
  return mean(measured.map((rate) => Math.abs(rate - alpha)));
}

export type BandResidence = {
  /** Index of the first epoch whose trailing mean is in the band; null: never. */
  entry: number | null;
  /** Share of the trailing means in the band; null when there is none. */
  residence: number | null;
  /** The same from entry on; null without an entry. */
  afterEntry: number | null;
};

/**
 * How soon, and how much of the time, a run's success rate is in the band. `successRates` has one value an
 * epoch (null: not measured); what is judged is its trailing mean over `window` epochs, from the first full
 * window on, so that one lucky epoch is no entry. A window with nothing measured in it is not counted. Claim
 * C1 of the paper.
 */
export function bandResidence(
  successRates: readonly (number | null)[],
  { window, band = TARGET_BAND }: { window: number; band?: Band },
): BandResidence {
  requireInteger('window', window, 1);
  requireRates('successRates', successRates);
  const judged: { epoch: number; inside: boolean }[] = [];
  for (let epoch = window - 1; epoch < successRates.length; epoch++) {
    const recent = successRates.slice(epoch - window + 1, epoch + 1).filter((rate) => rate !== null);
    const level = mean(recent);
    if (level !== null) judged.push({ epoch, inside: isInBand(level, band) });
  }
  const entry = judged.find(({ inside }) => inside)?.epoch ?? null;
  const shareInside = (epochs: typeof judged) => mean(epochs.map(({ inside }) => (inside ? 1 : 0)));
  return {
    entry,
    residence: shareInside(judged),
    afterEntry: entry === null ? null : shareInside(judged.filter(({ epoch }) => epoch >= entry)),
  };
}

function requireRates(name: string, rates: readonly (number | null)[]): void {
  for (const [i, rate] of rates.entries()) {
    if (rate !== null) requireInRange(`${name}[${i}]`, rate, 0, 1);
  }
}
