import { bootstrapInterval, pairedBootstrapInterval } from '../coevolution/bootstrap-interval.ts';
import type { Estimate } from '../coevolution/bootstrap-interval.ts';
import { studentInterval } from '../coevolution/learning-curve.ts';
import { measured } from '../report/run-data.ts';

/**
 * A mean over seeds with its 95 % interval by bootstrap, which is too narrow where seeds are few, and Student's, which verdicts ask too. All
 * ends are null for a single seed.
 */
export type OverSeeds = Omit<Estimate, 'low' | 'high'> &
  Record<'low' | 'high' | 'studentLow' | 'studentHigh', number | null> & { seeds: number };

/** Whether the whole of both intervals is above a level (1), below it (-1), or neither (0); null where there are none. */
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
function withSeeds(estimate: Estimate | null, values: readonly number[]): OverSeeds | null {
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
