/** What a metric is of the values that were measured; null if none was. */
import { mean } from '../numerics/arithmetic.ts';
import type { Metrics } from '../types/run-state.ts';

/** A part of a total; null if the total is 0. */
export const ratio = (part: number, total: number): number | null => (total === 0 ? null : part / total);

/** Mean of the values added, summed in their order; null without any. */
export class RunningMean {
  count = 0;
  #sum = 0;

  add(value: number): void {
    this.count += 1;
    this.#sum += value;
  }

  get value(): number | null {
    return this.count === 0 ? null : this.#sum / this.count;
  }
}

/** Mean of the values that were measured. */
export const average = (values: readonly (number | null)[]): number | null =>
  mean(values.filter((value) => value !== null));

/** Population standard deviation. */
export function standardDeviation(values: readonly number[]): number | null {
  const centre = mean(values);
  if (centre === null) return null;
  const squares = values.map((value) => (value - centre) ** 2);
  return Math.sqrt(mean(squares)!);
}

/** How often each value occurs, as metrics `<name>/<value>` in the order of the values. */
export function countsByName(name: string, values: readonly string[]): Metrics {
  const metrics: Metrics = {};
  for (const value of values.toSorted()) {
    const metric = `${name}/${value}`;
    metrics[metric] = (metrics[metric] ?? 0) + 1;
  }
  return metrics;
}

/** The same as shares of all values. */
export function sharesByName(name: string, values: readonly string[]): Metrics {
  const counts = Object.entries(countsByName(name, values));
  return Object.fromEntries(counts.map(([metric, count]) => [metric, count! / values.length]));
}
