import { runsToMake } from '../../comparison/finished-runs.ts';
import { experimentOf } from '../../comparison/plan.ts';
import { comparisonHash } from '../../comparison/summary.ts';
import { comparisonIdPattern, comparisonIdRule, parseComparison } from '../../config/comparison.ts';
import type { Comparison } from '../../config/comparison.ts';
import type { Experiment } from '../../config/experiment.ts';
import { changedFields } from '../../config/retune.ts';
import { evenlySpaced, evenlyWithin } from '../../numerics/spacing.ts';
import { openRun } from '../../runs/ledger-entry.ts';
import { phaseLimits, workflowSettings } from '../../runs/settings-in-effect.ts';
import type { ParseInput } from '../../types/activity-inputs.ts';
import type { ArmRun, ArmRunInput } from '../../types/comparison-inputs.ts';
import type {
  ComparisonPlan,
  CrossPlayPlan,
  ProbePlan,
  RunCheckpoints,
} from '../../types/comparison-types.ts';
import { InvalidConfig } from '../../validation/invalid-config.ts';
import type { Dependencies } from '../dependencies.ts';

/**
 * Parses the file that the workflow was started with. The same id with the same file is the same comparison;
 * a file that changes or drops a run is refused. Arms and seeds may be added, and the concurrency of runs and
 * what is measured after them may change: the new file then replaces the old one.
 * @throws InvalidConfig naming the field
 */
export function createParseComparison(dependencies: Dependencies) {
  return async ({ id, file }: ParseInput): Promise<ComparisonPlan> => {
    if (!comparisonIdPattern.test(id))
      throw new InvalidConfig(
        `workflow id: got ${JSON.stringify(id)}; it is the comparison's id: ${comparisonIdRule}`,
      );
    const comparison = parseComparison(file);
    for (const [arm, experiment] of Object.entries(comparison.arms))
      await checkWorld(dependencies, arm, experiment);
    const folder = dependencies.comparisonFolder(id);
    const existing = (await folder.read())?.comparison;
    const changes =
      existing === undefined ? '' : changedFields(runIdentity(existing), runIdentity(comparison, existing));
    if (changes !== '')
      throw new InvalidConfig(
        `comparison: the id ${JSON.stringify(id)} belongs to another comparison file (${changes}); ` +
          `start this one under another id`,
      );
    const { concurrency, crossPlay, probes } = comparison;
    if (existing?.concurrency !== concurrency || comparisonHash(existing) !== comparisonHash(comparison))
      await folder.write(comparison);
    // What another home has finished is neither run nor measured again: its policies are there.
    const runs = await runsToMake(dependencies, id, comparison);
    return {
      id,
      runs,
      concurrency,
      crossPlay: measuredRuns(runs, crossPlay),
      probes: measuredRuns(runs, probes),
    };
  };
}

/** The runs that a measure is taken of; none without the measure. */
function measuredRuns(
  runs: readonly ArmRun[],
  measure: { arms: string[]; seeds: number[] } | null,
): ArmRun[] {
  if (measure === null) return [];
  return runs.filter(({ arm, seed }) => measure.arms.includes(arm) && measure.seeds.includes(seed));
}

/**
 * Checks that this worker has the world, and that the world can serve the arm, before the arm's first run.
 * @throws InvalidConfig naming the arm
 */
async function checkWorld({ loadWorld }: Dependencies, arm: string, experiment: Experiment): Promise<void> {
  try {
    workflowSettings(experiment, await loadWorld(experiment.world));
  } catch (error) {
    if (!(error instanceof InvalidConfig)) throw error;
    throw new InvalidConfig(`comparison: arms.${arm}: ${error.message.replace(/^experiment: /, '')}`);
  }
}

/**
 * The fields of a comparison that its runs follow from.
 * @param existing if given, only the fields of its arms and seeds
 */
function runIdentity(comparison: Comparison, existing = comparison): object {
  const arms = Object.entries(comparison.arms).filter(([arm]) => arm in existing.arms);
  return {
    name: comparison.name,
    ...(comparison.worlds && { worlds: comparison.worlds }),
    seeds: existing.seeds.filter((seed) => comparison.seeds.includes(seed)),
    arms: Object.fromEntries(arms),
  };
}

/** The experiment file of one run of a comparison. */
export function createArmExperiment(dependencies: Dependencies) {
  return async ({ id, run }: ArmRunInput): Promise<Experiment> =>
    experimentOf(await readComparison(dependencies, id), run);
}

/**
 * Plans which epochs of a run play against each other.
 * @throws InvalidConfig if the run lacks one of them
 */
export function createPlanCrossPlay(dependencies: Dependencies) {
  return async ({ id, run }: ArmRunInput): Promise<CrossPlayPlan> => {
    const comparison = await readComparison(dependencies, id);
    const { checkpoints, tasks, samples } = comparison.crossPlay!;
    const selectEpochs = (last: number): number[] => evenlySpaced(last, checkpoints);
    return {
      ...(await runCheckpoints(dependencies, comparison, run, selectEpochs)),
      tasks,
      samples,
    };
  };
}

/**
 * Plans which agents of a run are probed: not the warm one, which has learnt nothing yet, and others before
 * the last.
 * @throws InvalidConfig if the run lacks one of the epochs
 */
export function createPlanProbes(dependencies: Dependencies) {
  return async ({ id, run }: ArmRunInput): Promise<ProbePlan> => {
    const comparison = await readComparison(dependencies, id);
    const { checkpoints, tasks, attempts } = comparison.probes!;
    const selectEpochs = (last: number): number[] => evenlyWithin(last, checkpoints);
    return {
      ...(await runCheckpoints(dependencies, comparison, run, selectEpochs)),
      tasks,
      attempts,
    };
  };
}

/**
 * The states of a finished run after some of its epochs, which are measured afterwards.
 * @param selectEpochs the epochs, for the number of the last one
 * @throws InvalidConfig if the run lacks one of them
 */
async function runCheckpoints(
  dependencies: Dependencies,
  comparison: Comparison,
  run: ArmRun,
  selectEpochs: (last: number) => number[],
): Promise<RunCheckpoints> {
  const experiment = experimentOf(comparison, run);
  const opened = await openRun(dependencies.runFolder(run.id));
  const lines = (await opened?.ledger.read()) ?? [];
  const checkpoints = selectEpochs(experiment.epochs).map((epoch) => {
    const line = lines.find((candidate) => candidate.epoch === epoch);
    if (line === undefined)
      throw new InvalidConfig(
        `comparison: ${run.id} has no epoch ${epoch}; its ledger ends with ${lines.at(-1)?.epoch ?? 'none'}`,
      );
    return { epoch, state: line.outputs.state };
  });
  return {
    run: { id: run.id, experiment: await dependencies.store.putJson(experiment) },
    settings: phaseLimits(experiment),
    checkpoints,
  };
}

/** The file of a comparison that was started. @throws InvalidConfig if it is missing */
export async function readComparison({ comparisonFolder }: Dependencies, id: string): Promise<Comparison> {
  const folder = comparisonFolder(id);
  const started = await folder.read();
  if (started === undefined)
    throw new InvalidConfig(
      `comparison: ${folder.comparisonFile} is missing; start the comparison again with its file`,
    );
  return started.comparison;
}
