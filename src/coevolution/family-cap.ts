import { ROUNDING, requireInRange, requireSameLength } from './domain.ts';

/**
 * Caps the share of the regression weight that one family of tasks holds, by default at half: a simulator that found
 * one coin-flip tool moved 96 % of its tasks onto it (coevolution.md 4.2). Weights of a family above the cap are
 * scaled down alike until its share of what remains is `maxShare`; others are left as they are. Weights >= 0.
 *
 * Of F families with weight none can be held below 1/F, so a cap below that makes them equal, and a lone family stays
 * as it is: regression divides by the sum of the weights, so there is nothing to balance it against.
 */
export function capFamilies(
  weights: readonly number[],
  families: readonly string[],
  maxShare = 0.5,
): number[] {
  requireSameLength('weights', weights.length, 'families', families.length);
  requireInRange('maxShare', maxShare, 0, 1);
  const totals = new Map<string, number>();
  for (const [i, weight] of weights.entries()) {
    requireInRange(`weights[${i}]`, weight, 0, Number.MAX_VALUE);
    const family = families[i] ?? '';
    totals.set(family, (totals.get(family) ?? 0) + weight);
  }
  const cap = cappedTotal([...totals.values()], maxShare);
  return weights.map((weight, i) => {
    const total = totals.get(families[i] ?? '') ?? 0;
    return total > cap ? weight * (cap / total) : weight;
  });
}

/** The total c that families above it are scaled to: c = s (m c + the others), for the m largest of the families. */
function cappedTotal(totals: readonly number[], maxShare: number): number {
  const falling = totals.filter((total) => total > 0).sort((left, right) => right - left);
  for (let capped = 0; capped < falling.length - 1; capped++) {
    const others = falling.slice(capped).reduce((sum, total) => sum + total, 0);
    const cap = (maxShare * others) / (1 - capped * maxShare);
    if ((falling[capped] ?? 0) <= cap * (1 + ROUNDING)) return cap;
  }
  // All but the smallest are above the cap: it stays, and they come down to it, or as near as the cap allows.
  const smallest = falling.at(-1) ?? 0;
  return Math.max(smallest, (maxShare * smallest) / (1 - (falling.length - 1) * maxShare));
}
