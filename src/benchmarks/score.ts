import { bootstrapInterval } from '../coevolution/bootstrap-interval.ts';
import { wilsonInterval } from '../coevolution/wilson-interval.ts';
import type { Score } from './suite.ts';

/** A rate with its Wilson interval. Without cases it is 0 of 0, known to be anywhere in [0, 1]. */
export function rateScore(name: string, successes: number, of: number, note?: string): Score {
  return {
    name,
    value: of === 0 ? 0 : successes / of,
    of,
    successes,
    interval: wilsonInterval({ successes, attempts: of }),
    ...(note !== undefined && { note }),
  };
}

/** A mean over cases with its bootstrap interval. */
export function meanScore(name: string, values: readonly number[], note?: string): Score {
  const estimate = bootstrapInterval(values, { seed: 0, resamples: 2000 });
  return {
    name,
    value: estimate?.mean ?? 0,
    of: values.length,
    successes: null,
    interval: estimate && { low: estimate.low, high: estimate.high },
    ...(note !== undefined && { note }),
  };
}
