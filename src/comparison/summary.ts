import { agentRollouts } from '../config/equal-terms.ts';
import type { Comparison } from '../config/comparison.ts';
import { finishNow } from '../async/long-computation.ts';
import type { LongComputation } from '../async/long-computation.ts';
import { range } from '../numerics/arithmetic.ts';
import { LEAST_PAIRS } from '../numerics/sign-flip.ts';
import { referenceAnswersOf } from '../report/run-data.ts';
import { hashOf } from '../store/canonical-json.ts';
import type { CrossPlayRecord } from '../types/comparison-inputs.ts';
import { InvalidConfig } from '../validation/invalid-config.ts';
import { summarizeAxes } from './axes.ts';
import { summarizeBenchmarks } from './benchmarks.ts';
import type { BenchmarkSummary } from './benchmarks.ts';
import type { Axis } from './axes.ts';
import { estimateDifference, mapMetrics, summarizeArm } from './arm-summary.ts';
import type { ArmSummary, Differences } from './arm-summary.ts';
import {
  controlOf,
  describeAgentTrainingDifferences,
  describePrivileges,
  firstArmOfEachPreset,
  isMethod,
} from './claim-rules.ts';
import { judgeClaims } from './claims.ts';
import type { Claims } from './claims.ts';
import { summarizeCrossPlay } from './cross-play.ts';
import type { CrossPlaySummary } from './cross-play.ts';
import { describeUnmeasured, measuresOf } from './measured-policies.ts';
import { armRuns, experimentOf } from './plan.ts';
import { runRecordOf } from './portable-run.ts';
import type { PortableRun } from './portable-run.ts';
import { judgePrimary } from './primary.ts';
import type { PrimaryResult } from './primary.ts';
import { describeHomes, homesOf } from './origins.ts';
import type { HomeRuns } from './origins.ts';
import { computeProbeSummaries } from './probes.ts';
import type { ProbedAgent, ProbeSummary } from './probes.ts';
import { heldOutCurve } from './run-metrics.ts';
import type { RunRecord } from './run-metrics.ts';
import { inSameRun } from './runs-file.ts';
import { correctTables } from './secondary-tests.ts';
import type { ComparedArms } from './secondary-tests.ts';

/**
 * Version of the rules that figures and verdicts are made by. A published summary of another version is of that
 * version's rules.
 */
export const RULES = 5;

/** The result of a comparison: a function of its file, its runs' ledgers, its cross-play and its probes. */
export interface Summary {
  /** Version of the rules that figures and verdicts are made by. */
  rules: typeof RULES;
  name: string;
  /** Hash of the comparison as read from its file, with the order of its arms, without its concurrency. */
  comparison: string;
  baseline: string;
  seeds: number[];
  threshold: number;
  epochs: number;
  rolloutsPerEpoch: number;
  /** Rollouts that every run made: curves are compared up to them. */
  rollouts: number;
  /** The comparisons that the file named beforehand. */
  primary: PrimaryResult[];
  arms: ArmSummary[];
  /** Learning curves along what else a run uses, as far as it was counted. */
  axes: Axis[];
  benchmarks: BenchmarkSummary[];
  /**
   * Every other arm against the baseline, then against the first arm of each preset in which both policies
   * learn.
   */
  against: Against[];
  /** Arms in which both policies learn against a frozen simulator whose agent is trained in the same way. */
  againstControls: ComparedArms[];
  /** How many tests the differences of all tables are corrected for. */
  tests: number;
  crossPlay: CrossPlaySummary[];
  probes: ProbeSummary[];
  /** The claims of the method and whether they held here, for each preset. */
  claims: Claims[];
  /** Where the runs were made, if not all in one home. */
  homes: HomeRuns[];
  /** What a reader must know before trusting the figures. */
  notes: string[];
}

/** Arms minus one of them, under the same seeds. */
export interface Against {
  reference: string;
  rows: ComparedArms[];
}

/** @see Summary.comparison */
export const comparisonHash = (comparison: Comparison): string =>
  hashOf({ ...comparison, concurrency: null, order: Object.keys(comparison.arms) });

/**
 * The summary of a comparison's runs as lines of a runs file: equal lines give an equal summary, wherever the runs
 * were made.
 * @param id of the comparison, which is in the ids of its runs
 * @throws InvalidConfig if the runs under a seed did not start from the same policies
 */
export const summarizeRuns = (comparison: Comparison, id: string, lines: readonly PortableRun[]): Summary =>
  finishNow(computeSummary(comparison, id, lines));

/** `summarizeRuns` as a long computation: so many probes may have to be summed up. */
export function* computeSummary(
  comparison: Comparison,
  id: string,
  lines: readonly PortableRun[],
): LongComputation<Summary> {
  const runs: RunRecord[] = [];
  for (const run of armRuns(id, comparison))
    for (const line of lines.filter((candidate) => inSameRun(candidate, run))) {
      runs.push(runRecordOf(line, run, experimentOf(comparison, run)));
      yield;
    }
  const { crossPlay, probed } = measuresOf(lines, comparison);
  return yield* compute(comparison, runs, crossPlay, probed);
}

/** @throws InvalidConfig if the runs under a seed did not start from the same policies */
export const summarize = (
  comparison: Comparison,
  runs: readonly RunRecord[],
  crossPlay: readonly CrossPlayRecord[],
  probed: readonly ProbedAgent[] = [],
): Summary => finishNow(compute(comparison, runs, crossPlay, probed));

function* compute(
  comparison: Comparison,
  runs: readonly RunRecord[],
  crossPlay: readonly CrossPlayRecord[],
  probed: readonly ProbedAgent[],
): LongComputation<Summary> {
  requireSameStart(runs);
  const { name, baseline, seeds, threshold, arms: experiments } = comparison;
  const least = Math.min(...runs.map((run) => heldOutCurve(run).at(-1)?.rollouts ?? 0));
  const rollouts = Math.min(comparison.horizon ?? least, least);
  const places = evenPlaces(heldOutCurve(runs[0]!).length, rollouts);
  const arms = Object.keys(experiments).map((arm): ArmSummary => ({
    ...summarizeArm(
      arm,
      runs.filter((run) => run.arm === arm),
      { threshold, rollouts },
      places,
    ),
    control: controlOf(experiments, arm),
  }));
  const primary = comparison.primary ?? [];
  const references = [...new Set([baseline, ...firstArmOfEachPreset(experiments)])];
  const corrected = correctTables(
    [...references.map((reference) => compareWith(arms, reference)), compareWithControls(arms, experiments)],
    primary,
  );
  const measures = {
    crossPlay: summarizeCrossPlay(crossPlay),
    probes: yield* computeProbeSummaries(probed, (arm) => experiments[arm]!.difficulty.alpha),
  };
  return {
    rules: RULES,
    name,
    comparison: comparisonHash(comparison),
    baseline,
    seeds,
    threshold,
    epochs: experiments[baseline]!.epochs,
    rolloutsPerEpoch: agentRollouts(experiments[baseline]!),
    rollouts,
    primary: primary.map((settings) => judgePrimary(settings, arms)),
    arms,
    axes: summarizeAxes(Object.keys(experiments), baseline, runs),
    benchmarks: summarizeBenchmarks(Object.keys(experiments), baseline, runs),
    tests: corrected.tests,
    against: references.map((reference, index) => ({ reference, rows: corrected.tables[index]! })),
    againstControls: corrected.tables.at(-1)!,
    ...measures,
    claims: judgeClaims({ arms, experiments, ...measures }),
    homes: homesOf(runs),
    notes: [
      ...cautionNotes(runs, seeds),
      ...horizonNotes(comparison.horizon, least),
      ...describeHomes(runs),
      ...describeUnmeasured(comparison, { crossPlay, probed }),
      ...describeAgentTrainingDifferences(experiments, baseline),
      ...describePrivileges(experiments),
    ],
  };
}

/** `count` numbers of rollouts from 0 to `rollouts`, evenly spaced. */
const evenPlaces = (count: number, rollouts: number): number[] => [
  ...new Set(range(count).map((index) => Math.round((index * rollouts) / Math.max(1, count - 1)))),
];

function compareWith(arms: readonly ArmSummary[], reference: string): ComparedArms[] {
  const base = arms.find(({ arm }) => arm === reference)!;
  return arms.filter((arm) => arm !== base).map((arm) => compareArms(arm, base));
}

const compareWithControls = (arms: readonly ArmSummary[], experiments: Comparison['arms']): ComparedArms[] =>
  arms.flatMap((arm) => {
    const control = arms.find((candidate) => candidate.arm === arm.control);
    return control === undefined || !isMethod(experiments[arm.arm]!) ? [] : [compareArms(arm, control)];
  });

const compareArms = (arm: ArmSummary, reference: ArmSummary): ComparedArms => ({
  arm: arm.arm,
  reference: reference.arm,
  differences: estimateDifferences(arm, reference),
});

const estimateDifferences = (arm: ArmSummary, reference: ArmSummary): Differences =>
  mapMetrics((metric) => estimateDifference(arm, reference, metric));

function requireSameStart(runs: readonly RunRecord[]): void {
  for (const run of runs) {
    const first = runs.find(({ seed }) => seed === run.seed)!;
    for (const role of ['agent', 'environment'] as const) {
      if (run.warm[role] !== first.warm[role])
        throw new InvalidConfig(
          `comparison: ${run.id} and ${first.id} did not start from the same ${role} (${run.warm[role].slice(0, 12)}, ` +
            `${first.warm[role].slice(0, 12)}), so they cannot be compared`,
        );
    }
  }
}

function* horizonNotes(horizon: number | undefined, least: number): Generator<string> {
  if (horizon !== undefined && horizon > least)
    yield (
      `A run has made only ${least} rollouts: all are compared up to there, and not up to ${horizon}, which the file ` +
      'names.'
    );
}

function* cautionNotes(runs: readonly RunRecord[], seeds: readonly number[]): Generator<string> {
  if (runs.some(({ rows }) => rows.some((row) => referenceAnswersOf(row) !== null)))
    yield (
      'Held-out success in curves, areas and tests is the mean probability of the reference answers, which has no ' +
      'sampling noise. An answer that is right and not the reference counts as none.'
    );
  if (seeds.length < LEAST_PAIRS)
    yield (
      `There ${seeds.length === 1 ? 'is 1 seed' : `are ${seeds.length} seeds`}: an exact test over them cannot have ` +
      `p below ${2 / 2 ** seeds.length}, and Student’s intervals assume that differences are spread normally. ` +
      `${LEAST_PAIRS} seeds are the fewest that can say more.`
    );
  for (const { id, changed } of runs)
    if (changed.length > 0)
      yield (
        `${id} ran under changed settings in epochs ${changed[0]} to ${changed.at(-1)}: it is not on ` +
        'equal terms with the others.'
      );
}
