/** Sum from left to right, from 0: equal values in equal order give equal bits. */
export function sum(values: Iterable<number>): number {
  let total = 0;
  for (const value of values) total += value;
  return total;
}

/** Arithmetic mean, summed in order; null of no values: nothing was measured. */
export function mean(values: readonly number[]): number | null {
  return values.length === 0 ? null : sum(values) / values.length;
}

/** The integers 0, 1, …, n - 1. */
export function range(n: number): number[] {
  return Array.from({ length: n }, (_, index) => index);
}
