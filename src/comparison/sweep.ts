import { z } from 'zod';
import type { comparedMeasures } from '../config/primary-comparisons.ts';
import { signFlipTest } from '../numerics/sign-flip.ts';
import { measuredValues } from '../report/run-data.ts';
import { InvalidConfig } from '../validation/invalid-config.ts';
import { isCensored } from './arm-summary.ts';
import type { RunMetricName } from './run-metrics.ts';
import { differencesBySeed, estimateOverSeeds } from './seed-estimates.ts';
import type { SeedEstimate } from './seed-estimates.ts';

/** What a sweep reads of a comparison's summary. */
export const sweptSummarySchema = z.object({
  name: z.string().max(1_000),
  baseline: z.string().max(1_000),
  arms: z
    .array(
      z.object({
        arm: z.string().max(1_000),
        runs: z
          .array(
            z.object({
              seed: z.int(),
              figures: z.record(z.string().max(1_000), z.number().nullable()),
              reached: z.boolean(),
            }),
          )
          .max(100),
        courses: z.object({ success: z.array(z.number().nullable()).max(100_000) }),
      }),
    )
    .max(200),
});
export type SweptSummary = z.infer<typeof sweptSummarySchema>;

/** Two arms, of which the first is judged. */
export interface SweptPair {
  arm: string;
  against: string;
}

/** The difference of two arms in one comparison. */
export interface SweepPoint extends SweptPair {
  comparison: string;
  /** Success of the agent in the first epoch of the baseline, whose simulator writes what it wrote at the start. */
  p0: number;
  difference: SeedEstimate;
  /** Of the sign-flip test. */
  p: number;
}

export interface Sweep {
  measure: RunMetricName;
  pairs: SweptPair[];
  /** By pair, then by p0. */
  points: SweepPoint[];
}

/**
 * How the difference of two arms depends on how hard the tasks are that a run begins with: a point for each
 * comparison that has both arms.
 * @throws InvalidConfig if no comparison has a pair, one says nothing of its first tasks, or the figure is of a
 * threshold that a seed did not come to
 */
export function sweep(
  summaries: readonly SweptSummary[],
  pairs: readonly SweptPair[],
  measure: (typeof comparedMeasures)[number],
): Sweep {
  const points = pairs.flatMap((pair) => {
    const own = summaries.flatMap((summary) => pointOf(summary, pair, measure));
    if (own.length === 0)
      throw new InvalidConfig(
        `sweep: got ${pair.arm}:${pair.against}; expected two arms of one of ${summaries.map(({ name }) => name).join(', ')}`,
      );
    return own.toSorted((a, b) => a.p0 - b.p0);
  });
  return { measure, pairs: [...pairs], points };
}

function pointOf(
  { name, baseline, arms }: SweptSummary,
  pair: SweptPair,
  measure: RunMetricName,
): SweepPoint[] {
  const [arm, against, base] = [pair.arm, pair.against, baseline].map((wanted) =>
    arms.find((candidate) => candidate.arm === wanted),
  );
  if (arm === undefined || against === undefined) return [];
  const p0 = base?.courses.success[0] ?? null;
  if (p0 === null)
    throw new InvalidConfig(`sweep: ${name}: its baseline ${baseline} has no success in epoch 1`);
  if (isCensored(measure, [...arm.runs, ...against.runs]))
    throw new InvalidConfig(
      `sweep: --measure: got ${measure}; ${name} has seeds of ${pair.arm} or ${pair.against} that did not come to ` +
        'its threshold: expected another measure',
    );
  const seeds = arm.runs.map(({ seed }) => seed);
  const figuresOf = ({ runs }: typeof arm): (number | null)[] =>
    seeds.map((seed) => runs.find((run) => run.seed === seed)?.figures[measure] ?? null);
  const differences = measuredValues(differencesBySeed(figuresOf(arm), figuresOf(against)));
  const difference = estimateOverSeeds(differences);
  return difference === null
    ? []
    : [{ ...pair, comparison: name, p0, difference, p: signFlipTest(differences)! }];
}
