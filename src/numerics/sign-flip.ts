import { sum } from './arithmetic.ts';
import { requireFinite, ROUNDING } from './preconditions.ts';
import { randomStream } from './random.ts';

/** Up to so many pairs all sign patterns are counted; of more, so many are drawn. */
const EXACT_PAIRS = 16;
const DRAWN_PATTERNS = 65_535;

/** Pairs below which the test cannot give less than 0.05: 2 / 2^5 is 0.0625, 2 / 2^6 is 0.031. */
export const LEAST_PAIRS = 6;

/**
 * Two-sided sign-flip test of paired differences: if neither side is better, each difference could as well
 * have the other sign, so p is the share of the 2^n sign patterns whose sum is at least as far from 0 as the
 * one seen, in [2 / 2^n, 1]. Exact, and nothing is assumed but symmetry. Fisher 1935, "The design of
 * experiments", section 21. Above 16 pairs 65,535 drawn patterns and the one seen stand for all (seeded, so
 * equal input gives equal p). Null without pairs.
 */
export function signFlipTest(differences: readonly number[]): number | null {
  for (const [i, difference] of differences.entries()) requireFinite(`differences[${i}]`, difference);
  if (differences.length === 0) return null;
  const seen = Math.abs(sum(differences)) - ROUNDING;
  const sums = differences.length <= EXACT_PAIRS ? allSums(differences) : drawnSums(differences);
  return sums.filter((total) => Math.abs(total) >= seen).length / sums.length;
}

/** The sums of all sign patterns. */
const allSums = (differences: readonly number[]): number[] =>
  differences.reduce<number[]>(
    (sums, difference) => [
      ...sums.map((total) => total + difference),
      ...sums.map((total) => total - difference),
    ],
    [0],
  );

function drawnSums(differences: readonly number[]): number[] {
  const random = randomStream(differences.length);
  const drawn = Array.from({ length: DRAWN_PATTERNS }, () =>
    sum(differences.map((difference) => (random.next() < 0.5 ? difference : -difference))),
  );
  return [sum(differences), ...drawn];
}
