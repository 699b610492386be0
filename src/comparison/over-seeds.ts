import { bootstrapInterval, pairedBootstrapInterval } from '../numerics/intervals.ts';
import type { IntervalEstimate } from '../numerics/intervals.ts';
import { formatNumber } from '../report/document.ts';
import { measured } from '../report/run-data.ts';
import { studentInterval } from './learning-curve.ts';
import type { RunMetricName, runMetrics } from './run-metrics.ts';

/**
 * A mean over seeds with its 95 % interval by bootstrap, which is too narrow where seeds are few, and
 * Student's, which verdicts ask too. All ends are null for a single seed.
 */
export type OverSeeds = Omit<IntervalEstimate, 'low' | 'high'> &
  Record<'low' | 'high' | 'studentLow' | 'studentHigh', number | null> & { seeds: number };

/**
 * Whether the whole of both intervals is above a level (1), below it (-1), or neither (0); null where there
 * are none.
 */
export function sideOf(
  { low, high, studentLow, studentHigh }: Pick<OverSeeds, 'low' | 'high' | 'studentLow' | 'studentHigh'>,
  level = 0,
): -1 | 0 | 1 | null {
  if (low === null || high === null || studentLow === null || studentHigh === null) return null;
  if (Math.min(low, studentLow) > level) return 1;
  return Math.max(high, studentHigh) < level ? -1 : 0;
}

/** Mean and interval of what was measured; null where nothing was. */
export function overSeeds(values: readonly (number | null)[], seed: number): OverSeeds | null {
  const present = measured(values);
  return withSeeds(bootstrapInterval(present, { seed }), present);
}

/** One arm minus another, seed by seed, over the seeds that have both. */
export function pairedOverSeeds(
  arm: readonly (number | null)[],
  other: readonly (number | null)[],
  seed: number,
): OverSeeds | null {
  const pairs = arm.flatMap((value, index) => {
    const beside = other[index] ?? null;
    return value === null || beside === null ? [] : [[value, beside] as const];
  });
  return withSeeds(
    pairedBootstrapInterval(
      pairs.map(([value]) => value),
      pairs.map(([, beside]) => beside),
      { seed },
    ),
    pairs.map(([value, beside]) => value - beside),
  );
}

// One value has no spread: an interval of no width would say that it is certain.
function withSeeds(estimate: IntervalEstimate | null, values: readonly number[]): OverSeeds | null {
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

type Ends = Pick<OverSeeds, 'mean' | 'low' | 'high'>;

/** A value of a figure as tables show it; a dash where nothing was measured. */
export function valueText(
  value: number | null | undefined,
  unit: (typeof runMetrics)[RunMetricName]['unit'] = 'share',
): string {
  if (value === null || value === undefined) return '–';
  if (unit === 'count') return String(Math.round(value)).replace('-', '−');
  if (unit === 'share') return value.toFixed(3).replace('-', '−');
  return unit === 'change' && value > 0 ? `+${formatNumber(value)}` : formatNumber(value);
}

/** `18856 to 19440`, of what was measured. */
export function rangeText(
  values: readonly (number | null)[],
  unit: (typeof runMetrics)[RunMetricName]['unit'],
): string {
  const present = measured(values);
  const [least, most] = [Math.min(...present), Math.max(...present)].map((value) => valueText(value, unit));
  if (present.length === 0) return '–';
  return least === most ? least! : `${least} to ${most}`;
}

/** `0.412 [0.380, 0.447]`, without an interval for a single seed. */
export function estimateText(
  estimate: Ends | null,
  unit: (typeof runMetrics)[RunMetricName]['unit'] = 'share',
): string {
  if (estimate === null) return '–';
  const { mean, low, high } = estimate;
  return low === null || high === null
    ? valueText(mean, unit)
    : `${valueText(mean, unit)} [${valueText(low, unit)}, ${valueText(high, unit)}]`;
}

/** A difference: bold where both of its intervals leave zero out. */
export function differenceText(
  difference: OverSeeds | null,
  unit: (typeof runMetrics)[RunMetricName]['unit'] = 'share',
): string {
  if (difference === null) return '–';
  const text = `${difference.mean > 0 ? '+' : ''}${estimateText(difference, unit)}`;
  return Math.abs(sideOf(difference) ?? 0) === 1 ? `**${text}**` : text;
}
