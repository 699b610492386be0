import type { Interval } from '../numerics/intervals.ts';
import { ROUNDING } from '../numerics/preconditions.ts';
import { LEAST_PAIRS, signFlipTest } from '../numerics/sign-flip.ts';
import { studentInterval, studentTest } from '../numerics/student.ts';
import type { StudentInterval } from '../numerics/student.ts';
import { formatNumber } from '../report/format.ts';
import { measuredValues } from '../report/run-data.ts';
import type { RunMetricName, runMetrics } from './run-metrics.ts';

/**
 * A mean over seeds with Student's 95 % interval. It has no ends for a single seed, and none if all seeds are
 * alike, which shows no spread to judge by.
 */
export interface SeedEstimate extends StudentInterval {
  seeds: number;
  /** Of rollouts to a threshold that some seed did not come to: how large it is, is not known. */
  isCensored?: true | undefined;
}

/** One arm minus another, seed by seed. */
export interface SeedDifference extends SeedEstimate {
  /**
   * Two-sided p of "no difference": Student's, or the sign-flip test's if all seeds are alike. Null for a
   * single seed; 1 where some seeds are censored.
   */
  p: number | null;
  /** p after Holm's correction for all tests of its page; null if it is not tested there. */
  adjusted: number | null;
}

/** An estimate from figures that are only the least that they may be: it has no interval. */
export const censorEstimate = <Estimate extends SeedEstimate>(estimate: Estimate) => ({
  ...estimate,
  low: null,
  high: null,
  isCensored: true as const,
});

/** Below it a p, after its correction, counts. */
export const LEVEL = 0.05;

/** Whether there are several seeds, and no difference between them. */
export const areSeedsAlike = ({
  low,
  seeds,
  isCensored,
}: Pick<SeedEstimate, 'low' | 'seeds' | 'isCensored'>): boolean =>
  low === null && seeds > 1 && isCensored !== true;

/**
 * Whether the interval is entirely above a level (1), below it (-1), or neither (0); null for a single seed.
 * Seeds that are all alike are judged as the sign-flip test would: six of them say on which side they are.
 */
export function sideOf(estimate: SeedEstimate, level = 0): -1 | 0 | 1 | null {
  const { mean, low, high, seeds } = estimate;
  if (seeds === 1) return null;
  if (low === null || high === null) {
    if (seeds < LEAST_PAIRS || Math.abs(mean - level) <= ROUNDING) return 0;
    return mean > level ? 1 : -1;
  }
  if (low > level) return 1;
  return high < level ? -1 : 0;
}

/**
 * Mean and interval of the measured values; null if there are none.
 * @param bounds where the values must lie: what Student's interval has beyond them is cut, which costs no coverage
 * @throws RangeError if a value lies beyond them
 */
export function estimateOverSeeds(
  values: readonly (number | null)[],
  { low: least, high: most }: Interval = { low: -Infinity, high: Infinity },
): SeedEstimate | null {
  const present = measuredValues(values);
  const stray = present.find((value) => value < least - ROUNDING || value > most + ROUNDING);
  if (stray !== undefined)
    throw new RangeError(`a value over seeds is ${stray}, not within ${least} to ${most}`);
  const interval = studentInterval(present);
  if (interval === null) return null;
  const { mean, low, high } = interval;
  return {
    mean,
    low: low === null ? null : Math.max(least, low),
    high: high === null ? null : Math.min(most, high),
    seeds: present.length,
  };
}

/** Where the values of a metric must lie. */
export const boundsOf = (unit: Unit): Interval | undefined => bounds[unit];

const bounds: Partial<Record<Unit, Interval>> = {
  share: { low: 0, high: 1 },
  'change of a share': { low: -1, high: 1 },
};

/** One arm minus a reference, seed by seed; null for a seed that lacks one of them. */
export const differencesBySeed = (
  arm: readonly (number | null)[],
  reference: readonly (number | null)[],
): (number | null)[] =>
  arm.map((left, index) => {
    const right = reference[index] ?? null;
    return left === null || right === null ? null : left - right;
  });

/** Mean, interval and p of the measured differences; null if there are none. */
export function estimateDifferenceOverSeeds(differences: readonly (number | null)[]): SeedDifference | null {
  const present = measuredValues(differences);
  const estimate = estimateOverSeeds(present);
  if (estimate === null) return null;
  const p = areSeedsAlike(estimate) ? signFlipTest(present) : studentTest(present);
  return { ...estimate, p, adjusted: null };
}

type Unit = (typeof runMetrics)[RunMetricName]['unit'];

/** A value of a metric as tables show it; a dash if nothing was measured. */
export function valueText(value: number | null | undefined, unit: Unit = 'share'): string {
  if (value === null || value === undefined) return '–';
  if (unit === 'count') return String(Math.round(value)).replace('-', '−');
  if (unit === 'share' || unit === 'change of a share' || unit === 'nats')
    return value.toFixed(3).replace('-', '−');
  return unit === 'change' && value > 0 ? `+${formatNumber(value)}` : formatNumber(value);
}

/** `18856 to 19440`, of the measured values. */
export function rangeText(values: readonly (number | null)[], unit: Unit): string {
  const present = measuredValues(values);
  if (present.length === 0) return '–';
  const low = valueText(Math.min(...present), unit);
  const high = valueText(Math.max(...present), unit);
  return low === high ? low : `${low} to ${high}`;
}

/**
 * `0.412 [0.380, 0.447]`, without an interval for a single seed, for seeds that are all alike, and where its ends
 * would look alike: an interval of zero width claims what was not measured.
 */
export function estimateText(estimate: SeedEstimate | null, unit: Unit = 'share'): string {
  if (estimate === null) return '–';
  const { mean, low, high } = estimate;
  if (areSeedsAlike(estimate)) return `${valueText(mean, unit)} (all seeds alike)`;
  if (low === null || high === null) return valueText(mean, unit);
  const [lowText, highText] = [low, high].map((end) => valueText(end, unit).replace(/^−(?=[0.]+$)/, ''));
  return lowText === highText
    ? `${lowText!} (seeds differ by less than is shown)`
    : `${valueText(mean, unit)} ${intervalText({ low, high }, unit)}`;
}

export const intervalText = ({ low, high }: { low: number; high: number }, unit: Unit): string =>
  `[${valueText(low, unit)}, ${valueText(high, unit)}]`;

/** A difference with its corrected p, if it is tested: bold if that is below 0.05. */
export function differenceText(difference: SeedDifference | null, unit: Unit = 'share'): string {
  if (difference === null || difference.isCensored) return '–';
  const { mean, adjusted } = difference;
  const isZero = /^−?[0.]+$/.test(valueText(mean, unit));
  const text = `${mean > 0 && !isZero && unit !== 'change' ? '+' : ''}${estimateText(difference, unit)}`;
  if (adjusted === null) return text;
  const withP = `${text}, ${pText(adjusted)}`;
  return adjusted < LEVEL ? `**${withP}**` : withP;
}

/** `p = 0.031`, `p < 0.001`. */
export const pText = (p: number): string => (p < 0.001 ? 'p < 0.001' : `p = ${p.toFixed(3)}`);
