import { bootstrapInterval, pairedBootstrapInterval } from '../coevolution/bootstrap-interval.ts';
import type { Estimate } from '../coevolution/bootstrap-interval.ts';
import { measured } from '../report/run-data.ts';

/** A mean over seeds with its 95 % interval; `low` and `high` are null for a single seed. */
export type OverSeeds = Omit<Estimate, 'low' | 'high'> & { low: number | null; high: number | null; seeds: number };

/** Mean and interval of what was measured; null where nothing was. */
export function overSeeds(values: readonly (number | null)[], seed: number): OverSeeds | null {
  const present = measured(values);
  return withSeeds(bootstrapInterval(present, { seed }), present.length);
}

/** One arm minus another, seed by seed, over the seeds that have both. */
export function pairedOverSeeds(arm: readonly (number | null)[], other: readonly (number | null)[], seed: number): OverSeeds | null {
  const pairs = arm.flatMap((value, index) => {
    const beside = other[index] ?? null;
    return value === null || beside === null ? [] : [[value, beside] as const];
  });
  return withSeeds(pairedBootstrapInterval(pairs.map(([value]) => value), pairs.map(([, beside]) => beside), { seed }), pairs.length);
}

// One value has no spread: an interval of no width would say that it is certain.
const withSeeds = (estimate: Estimate | null, seeds: number): OverSeeds | null => estimate && { ...estimate, ...(seeds === 1 ? { low: null, high: null } : {}), seeds };
