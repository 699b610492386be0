import { bootstrapInterval, pairedBootstrapInterval } from '../numerics/intervals.ts';
import type { IntervalEstimate } from '../numerics/intervals.ts';
import { formatNumber } from '../report/document.ts';
import { measured } from '../report/run-data.ts';
import { studentInterval } from './learning-curve.ts';
import type { RunMetricName, runMetrics } from './run-metrics.ts';

/**
 * A mean over seeds with two 95 % intervals: by bootstrap, which is too narrow for few seeds, and Student's.
 * Verdicts need both. All ends are null for a single seed.
 */
export type SeedEstimate = Omit<IntervalEstimate, 'low' | 'high'> &
  Record<'low' | 'high' | 'studentLow' | 'studentHigh', number | null> & { seeds: number };

/**
 * Whether both intervals are entirely above a level (1), below it (-1), or neither (0); null without them.
 */
export function sideOf(
  { low, high, studentLow, studentHigh }: Pick<SeedEstimate, 'low' | 'high' | 'studentLow' | 'studentHigh'>,
  level = 0,
): -1 | 0 | 1 | null {
  if (low === null || high === null || studentLow === null || studentHigh === null) return null;
  if (Math.min(low, studentLow) > level) return 1;
  return Math.max(high, studentHigh) < level ? -1 : 0;
}

/** Mean and intervals of the measured values; null if there are none. */
export function estimateOverSeeds(values: readonly (number | null)[], seed: number): SeedEstimate | null {
  const present = measured(values);
  return withSeeds(bootstrapInterval(present, { seed }), present);
}

/** One arm minus a reference, seed by seed, over the seeds that have both. */
export function estimateDifferenceOverSeeds(
  arm: readonly (number | null)[],
  reference: readonly (number | null)[],
  seed: number,
): SeedEstimate | null {
  const pairs = arm.flatMap((left, index) => {
    const right = reference[index] ?? null;
    return left === null || right === null ? [] : [{ left, right }];
  });
  const interval = pairedBootstrapInterval(
    pairs.map(({ left }) => left),
    pairs.map(({ right }) => right),
    { seed },
  );
  return withSeeds(
    interval,
    pairs.map(({ left, right }) => left - right),
  );
}

// One value has no spread: an interval of no width would say that it is certain.
function withSeeds(estimate: IntervalEstimate | null, values: readonly number[]): SeedEstimate | null {
  if (estimate === null) return null;
  const student = studentInterval(values);
  return {
    ...estimate,
    ...(values.length === 1 ? { low: null, high: null } : {}),
    studentLow: student?.low ?? null,
    studentHigh: student?.high ?? null,
    seeds: values.length,
  };
}

type Ends = Pick<SeedEstimate, 'mean' | 'low' | 'high'>;
type Unit = (typeof runMetrics)[RunMetricName]['unit'];

/** A value of a metric as tables show it; a dash if nothing was measured. */
export function valueText(value: number | null | undefined, unit: Unit = 'share'): string {
  if (value === null || value === undefined) return '–';
  if (unit === 'count') return String(Math.round(value)).replace('-', '−');
  if (unit === 'share') return value.toFixed(3).replace('-', '−');
  return unit === 'change' && value > 0 ? `+${formatNumber(value)}` : formatNumber(value);
}

/** `18856 to 19440`, of the measured values. */
export function rangeText(values: readonly (number | null)[], unit: Unit): string {
  const present = measured(values);
  if (present.length === 0) return '–';
  const low = valueText(Math.min(...present), unit);
  const high = valueText(Math.max(...present), unit);
  return low === high ? low : `${low} to ${high}`;
}

/** `0.412 [0.380, 0.447]`, without an interval for a single seed. */
export function estimateText(estimate: Ends | null, unit: Unit = 'share'): string {
  if (estimate === null) return '–';
  const { mean, low, high } = estimate;
  return low === null || high === null
    ? valueText(mean, unit)
    : `${valueText(mean, unit)} [${valueText(low, unit)}, ${valueText(high, unit)}]`;
}

/** A difference: bold if both of its intervals exclude zero. */
export function differenceText(difference: SeedEstimate | null, unit: Unit = 'share'): string {
  if (difference === null) return '–';
  const text = `${difference.mean > 0 ? '+' : ''}${estimateText(difference, unit)}`;
  return Math.abs(sideOf(difference) ?? 0) === 1 ? `**${text}**` : text;
}
