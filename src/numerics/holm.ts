import { requireInRange } from './preconditions.ts';

/**
 * Holm's adjusted p of a family of tests, in the order given: of m tests sorted by p, the i-th has the largest of
 * min(1, (m - j + 1) p_j) over j <= i. Those below 0.05 are wrong anywhere in the family in at most 5 % of
 * families, however the tests depend on each other. Holm 1979, "A simple sequentially rejective multiple test
 * procedure".
 */
export function holmAdjusted(ps: readonly number[]): number[] {
  for (const [i, p] of ps.entries()) requireInRange(`ps[${i}]`, p, 0, 1);
  const order = [...ps.keys()].sort((a, b) => ps[a]! - ps[b]!);
  const adjusted = [...ps];
  let largest = 0;
  for (const [rank, place] of order.entries()) {
    largest = Math.max(largest, Math.min(1, (ps.length - rank) * ps[place]!));
    adjusted[place] = largest;
  }
  return adjusted;
}
