import { requireCount, requirePositive } from './domain.ts';
import type { SuccessCount } from './success-rate.ts';

export type Interval = { low: number; high: number };

/** Standard normal quantile of a two-sided 95 % interval. */
export const Z_95 = 1.959963984540054;

/**
 * Wilson score interval of a success probability, from k successes in n attempts, in [0, 1]:
 * (p̂ + z²/2n ± z √(p̂(1-p̂)/n + z²/4n²)) / (1 + z²/n). Wilson 1927. Without attempts nothing is known: [0, 1].
 */
export function wilsonInterval({ successes, attempts }: SuccessCount, z = Z_95): Interval {
  requireCount('count', { successes, attempts });
  requirePositive('z', z);
  if (attempts === 0) return { low: 0, high: 1 };
  const rate = successes / attempts;
  const scale = 1 + z ** 2 / attempts;
  const centre = (rate + z ** 2 / (2 * attempts)) / scale;
  const margin = (z / scale) * Math.sqrt((rate * (1 - rate)) / attempts + z ** 2 / (4 * attempts ** 2));
  // At k = 0 and k = n one end is exact, and rounding must not push it out.
  return { low: successes === 0 ? 0 : centre - margin, high: successes === attempts ? 1 : centre + margin };
}
