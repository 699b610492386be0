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

/** The middle value, or the mean of the two in the middle; null of no values. */
export function median(values: readonly number[]): number | null {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  return mean(sorted.slice(sorted.length % 2 === 0 ? middle - 1 : middle, middle + 1));
}

/** The probability of a log-probability in nats; rounding takes it to 1 at most. */
export const probabilityOf = (logprob: number): number => Math.min(1, Math.exp(logprob));

/** A value with so many decimals. */
export const roundTo = (value: number, digits: number): number => Number(value.toFixed(digits));

/** The integers 0, 1, …, n - 1. */
export function range(n: number): number[] {
  return Array.from({ length: n }, (_, index) => index);
}
