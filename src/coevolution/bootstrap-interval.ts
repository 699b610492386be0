import { mean, requireFinite, requireInRange, requireInteger, requireSameLength } from './domain.ts';
import { randomStream } from './seeds.ts';

export type BootstrapSettings = {
  /** Seed of the resampling: equal input, equal interval. */
  seed: number;
  resamples?: number;
  /** Share of resamples inside, in (0, 1). */
  level?: number;
};

export type Estimate = { mean: number; low: number; high: number };

/**
 * Percentile bootstrap interval of a mean: `resamples` samples of n values drawn with replacement, and the (1 ± level)/2 quantiles of their
 * means (linear between order statistics). Efron 1979. Null without values. With few values it is too narrow: of normal
 * samples of 3, 5 and 10 the 95 % interval held the true mean in 74, 85 and 90 % (1,500 samples each). Say how many there were.
 */
export function bootstrapInterval(
  values: readonly number[],
  { seed, resamples = 10_000, level = 0.95 }: BootstrapSettings,
): Estimate | null {
  for (const [i, value] of values.entries()) requireFinite(`values[${i}]`, value);
  requireInteger('resamples', resamples, 1);
  requireInRange('level', level, 0, 1);
  const centre = mean(values);
  if (centre === null) return null;
  const random = randomStream(seed);
  const means = new Float64Array(resamples);
  for (let resample = 0; resample < resamples; resample++) {
    means[resample] = values.reduce((sum) => sum + random.pick(values), 0) / values.length;
  }
  means.sort();
  return { mean: centre, low: quantile(means, (1 - level) / 2), high: quantile(means, (1 + level) / 2) };
}

/** The same for left minus right, pair by pair: two arms under the same seeds, whose common luck cancels. */
export function pairedBootstrapInterval(
  left: readonly number[],
  right: readonly number[],
  settings: BootstrapSettings,
): Estimate | null {
  requireSameLength('left', left.length, 'right', right.length);
  return bootstrapInterval(
    left.map((value, i) => value - right[i]!),
    settings,
  );
}

function quantile(sorted: Float64Array, share: number): number {
  const at = share * (sorted.length - 1);
  const below = sorted[Math.floor(at)]!;
  return below + (at - Math.floor(at)) * (sorted[Math.ceil(at)]! - below);
}
