import { benchmarkPrefix } from '../runs/benchmark-scores.ts';
import type { RunRecord } from './run-metrics.ts';
import {
  boundsOf,
  differencesBySeed,
  estimateDifferenceOverSeeds,
  estimateOverSeeds,
} from './seed-estimates.ts';
import type { SeedDifference, SeedEstimate } from './seed-estimates.ts';

/** Transfer: the main score of a benchmark's suite, before a run and after its last epoch. */
export interface BenchmarkSummary {
  suite: string;
  /** Of the initial agent, which all arms of a seed share; null if no run evaluated it. */
  before: SeedEstimate | null;
  arms: {
    arm: string;
    after: SeedEstimate | null;
    /** Minus the initial agent of the same seed; not tested. */
    gain: SeedDifference | null;
    /** Minus the baseline of the same seed; not tested. */
    difference: SeedDifference | null;
  }[];
}

/** The suites that the runs evaluated their agents on, by name; empty if there are none. */
export function summarizeBenchmarks(
  arms: readonly string[],
  baseline: string,
  runs: readonly RunRecord[],
): BenchmarkSummary[] {
  const names = runs.flatMap(({ rows }) => rows.flatMap(({ metrics }) => Object.keys(metrics)));
  const metrics = [...new Set(names.filter((name) => name.startsWith(benchmarkPrefix)))].sort();
  const seeds = [...new Set(runs.map(({ seed }) => seed))];
  return metrics.map((metric) => {
    const scoreOf = (run: RunRecord, epoch: number): number | null =>
      run.rows.find((row) => row.epoch === epoch)?.metrics[metric] ?? null;
    const beforeBySeed = seeds.map(
      (seed) =>
        runs
          .filter((run) => run.seed === seed)
          .map((run) => scoreOf(run, 0))
          .find((score) => score !== null) ?? null,
    );
    const afterOf = (arm: string): (number | null)[] =>
      seeds.map((seed) => {
        const run = runs.find((candidate) => candidate.arm === arm && candidate.seed === seed);
        return run === undefined ? null : scoreOf(run, run.rows.at(-1)!.epoch);
      });
    return {
      suite: metric.slice(benchmarkPrefix.length),
      before: estimateOverSeeds(beforeBySeed, boundsOf('share')),
      arms: arms.map((arm) => ({
        arm,
        after: estimateOverSeeds(afterOf(arm), boundsOf('share')),
        gain: estimateDifferenceOverSeeds(differencesBySeed(afterOf(arm), beforeBySeed)),
        difference:
          arm === baseline
            ? null
            : estimateDifferenceOverSeeds(differencesBySeed(afterOf(arm), afterOf(baseline))),
      })),
    };
  });
}
