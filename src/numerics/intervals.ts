import { mean, range } from './arithmetic.ts';
import {
  requireCount,
  requireFinite,
  requireInRange,
  requireInteger,
  requirePositive,
} from './preconditions.ts';
import { randomStream } from './random.ts';

/** k successes of n attempts that were made. */
export type SuccessCount = { successes: number; attempts: number };

export type BootstrapSettings = {
  /** Seed of the resampling: equal input, equal interval. */
  seed: number;
  resamples?: number;
  /** Share of resamples inside, in (0, 1). */
  level?: number;
};

export type IntervalEstimate = { mean: number; low: number; high: number };

/**
 * Percentile bootstrap interval of a mean: `resamples` samples of n values drawn with replacement, and the (1
 * ± level)/2 quantiles of their means (linear between order statistics). Efron 1979. Null without values.
 * With few values it is too narrow: of normal samples of 3, 5 and 10 the 95 % interval held the true mean in
 * 74, 85 and 90 % (1,500 samples each). Say how many there were.
 */
export function bootstrapInterval(
  values: readonly number[],
  { seed, resamples = 10_000, level = 0.95 }: BootstrapSettings,
): IntervalEstimate | null {
  for (const [i, value] of values.entries()) requireFinite(`values[${i}]`, value);
  requireInteger('resamples', resamples, 1);
  requireInRange('level', level, 0, 1);
  const centre = mean(values);
  if (centre === null) return null;
  const random = randomStream(seed);
  const count = values.length;
  const means = new Float64Array(resamples);
  for (let resample = 0; resample < resamples; resample++) {
    let total = 0;
    for (let draw = 0; draw < count; draw++) total += random.pick(values);
    means[resample] = total / count;
  }
  means.sort();
  return { mean: centre, low: quantile(means, (1 - level) / 2), high: quantile(means, (1 + level) / 2) };
}

/**
 * The interval of a mean of values between two bounds: by bootstrap, unless all values are alike and there is nothing
 * to resample. Then the share of values that would have been others is at most w, the upper end of Wilson's
 * interval for none of n, and each of them lies within the bounds: [v - w (v - low), v + w (high - v)]. Null
 * without values.
 */
export function boundedMeanInterval(
  values: readonly number[],
  { low, high }: Interval,
  settings: BootstrapSettings,
): IntervalEstimate | null {
  const [value] = values;
  if (value === undefined || values.some((another) => another !== value))
    return bootstrapInterval(values, settings);
  requireFinite('values[0]', value);
  const { high: share } = wilsonInterval({ successes: 0, attempts: values.length });
  return { mean: value, low: value - share * (value - low), high: value + share * (high - value) };
}

/** The value below which a share of sorted values lies, linear between them. */
export function quantile(sorted: Float64Array, share: number): number {
  const position = share * (sorted.length - 1);
  const low = sorted[Math.floor(position)]!;
  const high = sorted[Math.ceil(position)]!;
  return low + (position - Math.floor(position)) * (high - low);
}

export type Interval = { low: number; high: number };

/** Standard normal quantile of a two-sided 95 % interval. */
export const Z_95 = 1.959963984540054;

/**
 * Wilson score interval of a success probability, from k successes in n attempts, in [0, 1]: (p̂ + z²/2n ± z
 * √(p̂(1-p̂)/n + z²/4n²)) / (1 + z²/n). Wilson 1927. Without attempts nothing is known: [0, 1].
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

/**
 * Binomial distribution: the probabilities of k = 0..n successes in n attempts that each succeed with
 * probability p, C(n, k) p^k (1-p)^(n-k), in [0, 1]. Through logarithms, so that large n neither over- nor
 * underflows.
 */
export function binomialDistribution(n: number, p: number): number[] {
  requireInteger('n', n, 0);
  requireInRange('p', p, 0, 1);
  let logChoose = 0;
  return range(n + 1).map((k) => {
    if (k > 0) logChoose += Math.log(n - k + 1) - Math.log(k);
    // 0 * log 0 is 0 here: no failure in no attempt is certain.
    const logSuccesses = k === 0 ? 0 : k * Math.log(p);
    const logFailures = k === n ? 0 : (n - k) * Math.log1p(-p);
    return Math.exp(logChoose + logSuccesses + logFailures);
  });
}

export type SuccessHistogram = {
  /** counts[k]: groups with k successes of n, for k = 0..n. */
  counts: number[];
  /** Groups with another number of attempts than n (some rollouts failed): in no bin of this histogram. */
  incomplete: number;
};

/** Histogram of the groups' success rates in the n + 1 values that n attempts can give. */
export function successHistogram(groups: readonly SuccessCount[], n: number): SuccessHistogram {
  requireInteger('n', n, 1);
  const counts = Array<number>(n + 1).fill(0);
  let incomplete = 0;
  for (const [i, { successes, attempts }] of groups.entries()) {
    requireCount(`groups[${i}]`, { successes, attempts });
    if (attempts === n) counts[successes] = (counts[successes] ?? 0) + 1;
    else incomplete++;
  }
  return { counts, incomplete };
}
