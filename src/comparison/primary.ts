import type { PrimarySettings } from '../config/primary-comparisons.ts';
import { LEAST_PAIRS, signFlipTest } from '../numerics/sign-flip.ts';
import { studentInterval } from '../numerics/student.ts';
import { measuredValues } from '../report/run-data.ts';
import { isCensored } from './arm-summary.ts';
import type { ArmRunSummary, ArmSummary } from './arm-summary.ts';
import { censorEstimate, differencesBySeed, estimateOverSeeds, LEVEL } from './seed-estimates.ts';
import type { SeedEstimate } from './seed-estimates.ts';

/** What a comparison that was named beforehand says. */
export interface PrimaryResult extends PrimarySettings {
  /** Arm minus the other, by seed, in the order of the seeds; null for a seed without the figure. */
  bySeed: (number | null)[];
  difference: SeedEstimate | null;
  /** Of the exact sign-flip test, two-sided; null without a seed, and if a figure is censored. */
  p: number | null;
  /** Student's 90 % interval, by which equivalence is judged; null if there is none. */
  narrow: { low: number; high: number } | null;
  /** Whether the difference is inside ± margin. */
  equivalent: boolean;
  verdict: 'larger' | 'smaller' | 'equivalent' | 'undecided';
}

/**
 * Judges a comparison that was named beforehand. It is `larger` or `smaller` if the exact sign-flip test over the
 * seeds has p < 0.05, which takes six of them. The arms are equivalent if Student's 90 % interval lies inside
 * ± margin, which is two one-sided tests at 5 % each (Schuirmann 1987). Seeds that are all alike have no
 * interval; then five of them, by one-sided sign-flip tests, make them equivalent. Rollouts to a threshold that a
 * seed did not come to are censored, so nothing is tested then.
 */
export function judgePrimary(settings: PrimarySettings, arms: readonly ArmSummary[]): PrimaryResult {
  const { measure, margin } = settings;
  const runsOf = (name: string): ArmRunSummary[] => arms.find(({ arm }) => arm === name)!.runs;
  const [runs, otherRuns] = [runsOf(settings.arm), runsOf(settings.against)];
  const figuresOf = (list: typeof runs): (number | null)[] => list.map(({ figures }) => figures[measure]);
  const bySeed = differencesBySeed(figuresOf(runs), figuresOf(otherRuns));
  const differences = measuredValues(bySeed);
  const difference = estimateOverSeeds(differences);
  if (isCensored(measure, [...runs, ...otherRuns])) {
    const untested = { p: null, narrow: null, equivalent: false, verdict: 'undecided' } as const;
    return { ...settings, bySeed, difference: difference && censorEstimate(difference), ...untested };
  }
  const p = signFlipTest(differences);
  const { low, high } = studentInterval(differences, 1 - 2 * LEVEL) ?? { low: null, high: null };
  const narrow = low === null || high === null ? null : { low, high };
  const equivalent =
    narrow === null
      ? differences.length >= LEAST_PAIRS - 1 && Math.abs(difference!.mean) < margin
      : narrow.low > -margin && narrow.high < margin;
  return {
    ...settings,
    bySeed,
    difference,
    p,
    narrow,
    equivalent,
    verdict: verdictOf(difference?.mean ?? 0, p, equivalent),
  };
}

function verdictOf(mean: number, p: number | null, equivalent: boolean): PrimaryResult['verdict'] {
  if (p !== null && p < LEVEL) return mean > 0 ? 'larger' : 'smaller';
  return equivalent ? 'equivalent' : 'undecided';
}
