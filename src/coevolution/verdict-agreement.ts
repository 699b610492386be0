import { requireFinite, requireSameLength } from './domain.ts';

/**
 * Agreement of two verdicts on the same answers: share of exactly equal rewards, in [0, 1]; null without answers.
 * Anything below 1 is a checker that is not deterministic. (Eight answers scored twice betray a fair coin with
 * probability 1 - 2^-8 = 99.6 %.)
 */
export function verdictAgreement(first: readonly number[], second: readonly number[]): number | null {
  requireSameLength('first', first.length, 'second', second.length);
  let equal = 0;
  for (const [i, verdict] of first.entries()) {
    const again = second[i] ?? NaN;
    requireFinite(`first[${i}]`, verdict);
    requireFinite(`second[${i}]`, again);
    if (verdict === again) equal++;
  }
  return first.length === 0 ? null : equal / first.length;
}
