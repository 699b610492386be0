import { mean, requireFinite, requireSameLength } from './domain.ts';

/**
 * Spearman's rank correlation of two lists, in [-1, 1]: Pearson's of the ranks, ties at their mean rank. Null below two values, and where
 * one list has no two different values.
 */
export function rankCorrelation(left: readonly number[], right: readonly number[]): number | null {
  requireSameLength('left', left.length, 'right', right.length);
  const [a, b] = [ranks('left', left), ranks('right', right)];
  const middle = mean(a);
  if (middle === null) return null;
  const product = (x: readonly number[], y: readonly number[]): number =>
    x.reduce((sum, value, i) => sum + (value - middle) * (y[i]! - middle), 0);
  const spread = Math.sqrt(product(a, a) * product(b, b));
  return spread === 0 ? null : product(a, b) / spread;
}

function ranks(name: string, values: readonly number[]): number[] {
  for (const [i, value] of values.entries()) requireFinite(`${name}[${i}]`, value);
  return values.map(
    (value) =>
      values.filter((other) => other < value).length +
      (values.filter((other) => other === value).length + 1) / 2,
  );
}
