import { mean, range } from '../../numerics/arithmetic.ts';
import type { SuccessCount } from '../../numerics/intervals.ts';
import { requireCount, requireInteger } from '../../numerics/preconditions.ts';
import { AGEING } from './selection.ts';

/** Outcome of a task that was rolled out, with its text. */
export type TextOutcome = SuccessCount & { epoch: number; text: string };

/** Characters of a task that are looked at, and of an outcome that are kept. */
export const MAX_TEXT = 2_000;
/** The newest outcomes that are looked at: solving for them takes their third power. */
const MAX_OUTCOMES = 512;
/** Counters that n-grams are hashed into, and the longest n-gram. */
const BUCKETS = 512;
const LONGEST = 3;
/** Penalty ρ, in outcomes: noise of an empirical logit, relative to the spread of logits that texts explain. */
const RIDGE = 1;

/**
 * Predicted success on tasks without attempts from their texts alone, for those who are not told what makes
 * a task hard: ridge regression of the empirical logit y = ln((k + 1/2) / (n - k + 1/2)) on hashed counts of
 * character n-grams (n = 1 to 3; Weinberger et al. 2009), p̃ = σ(ȳ + Σ a_i K(x, x_i)) with a = (K + ρ
 * W⁻¹)⁻¹ (y - ȳ), K the product of centred counts in units of their mean square, W = 0.7^age. Counts grow
 * with the length of a text, so length can be learnt, and so can any word. Deterministic; in (0, 1); null
 * while nothing was observed. Linear in tasks, cubic in at most 512 outcomes.
 */
export function predictFromTexts(
  texts: readonly string[],
  observed: readonly TextOutcome[],
  epoch: number,
): (number | null)[] {
  const weightOf = (outcome: TextOutcome): number => AGEING ** (epoch - outcome.epoch);
  // After some 2,000 epochs an outcome weighs nothing at all.
  const outcomes = observed
    .slice(-MAX_OUTCOMES)
    .filter((outcome) => outcome.attempts > 0 && weightOf(outcome) > 0);
  for (const [i, outcome] of outcomes.entries()) {
    requireCount(`outcomes[${i}]`, outcome);
    requireInteger(`outcomes[${i}].epoch`, outcome.epoch, 0, epoch);
  }
  if (outcomes.length === 0) return texts.map(() => null);
  const weights = outcomes.map(weightOf);
  const logits = outcomes.map(({ successes, attempts }) =>
    Math.log((successes + 0.5) / (attempts - successes + 0.5)),
  );
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  const average = (values: readonly number[]): number =>
    values.reduce((sum, value, i) => sum + value * weights[i]!, 0) / total;
  const counts = outcomes.map(({ text }) => countGrams(text));
  const centre = Float64Array.from(range(BUCKETS), (bucket) => average(counts.map((row) => row[bucket]!)));
  const rows = counts.map((row) => row.map((count, bucket) => count - centre[bucket]!));
  const scale = mean(rows.map((row) => product(row, row)))!;
  const intercept = average(logits);
  // Texts that are all alike say nothing.
  if (scale === 0) return texts.map(() => sigmoid(intercept));
  const matrix = rows.map((row, i) =>
    Float64Array.from(
      rows,
      (column, j) => product(row, column) / scale + (i === j ? RIDGE / weights[i]! : 0),
    ),
  );
  const dual = solvePositive(
    matrix,
    logits.map((logit) => logit - intercept),
  );
  const slope = Float64Array.from(
    range(BUCKETS),
    (bucket) => dual.reduce((sum, value, i) => sum + value * rows[i]![bucket]!, 0) / scale,
  );
  return texts.map((text) => {
    const row = countGrams(text).map((count, bucket) => count - centre[bucket]!);
    return sigmoid(intercept + product(row, slope));
  });
}

/** How often the n-grams of each bucket come in a text (32-bit FNV-1a). */
function countGrams(text: string): Float64Array {
  const counts = new Float64Array(BUCKETS);
  const end = Math.min(text.length, MAX_TEXT);
  for (let start = 0; start < end; start++) {
    let hash = 0x811c9dc5;
    for (let at = start; at < Math.min(end, start + LONGEST); at++) {
      hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
      counts[(hash >>> 0) % BUCKETS]! += 1;
    }
  }
  return counts;
}

function product(left: Float64Array, right: Float64Array): number {
  let sum = 0;
  for (let i = 0; i < left.length; i++) sum += left[i]! * right[i]!;
  return sum;
}

const sigmoid = (logit: number): number => 1 / (1 + Math.exp(-logit));

/** Solves A x = b for a symmetric, positive definite A by its Cholesky factor, which replaces A's lower half. */
function solvePositive(matrix: readonly Float64Array[], right: readonly number[]): number[] {
  const size = right.length;
  const solution = [...right];
  for (let row = 0; row < size; row++) {
    const factor = matrix[row]!;
    for (let column = 0; column <= row; column++) {
      const pivot = matrix[column]!;
      let sum = factor[column]!;
      for (let k = 0; k < column; k++) sum -= factor[k]! * pivot[k]!;
      factor[column] = column === row ? Math.sqrt(sum) : sum / pivot[column]!;
      if (column < row) solution[row]! -= factor[column]! * solution[column]!;
    }
    solution[row]! /= factor[row]!;
  }
  for (let row = size - 1; row >= 0; row--) {
    for (let k = row + 1; k < size; k++) solution[row]! -= matrix[k]![row]! * solution[k]!;
    solution[row]! /= matrix[row]![row]!;
  }
  return solution;
}
