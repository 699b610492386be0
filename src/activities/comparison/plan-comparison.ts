import { armRuns } from '../../comparison/plan.ts';
import { comparisonIdPattern, comparisonIdRule, parseComparison } from '../../config/comparison.ts';
import type { Comparison } from '../../config/comparison.ts';
import type { Experiment } from '../../config/experiment.ts';
import { changedFields } from '../../config/retune.ts';
import { evenlySpaced, evenlyWithin } from '../../numerics/spacing.ts';
import type { LedgerEntry } from '../../runs/ledger-entry.ts';
import { workflowSettings } from '../../runs/settings-in-effect.ts';
import { hashOf } from '../../store/canonical-json.ts';
import type { ParseInput } from '../../types/activity-types.ts';
import type {
  ArmRun,
  ArmRunInput,
  ComparisonPlan,
  CrossPlayPlan,
  ProbePlan,
  RunCheckpoints,
} from '../../types/comparison-types.ts';
import { InvalidConfig } from '../../validation/invalid-config.ts';
import type { Dependencies } from '../dependencies.ts';

/**
 * Reads what the workflow was started with: the same id with the same file is the same comparison, with one
 * that changes or drops a run it is refused. Arms and seeds may be added, and how many runs are under way at
 * a time, and what is measured once they are done, may change: the new file then stands for the old one.
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
    const existing = await folder.read();
    const changes =
      existing === undefined
        ? ''
        : changedFields(decisive(existing.comparison), decisive(comparison, existing.comparison));
    if (changes !== '')
      throw new InvalidConfig(
        `comparison: the id ${JSON.stringify(id)} belongs to another comparison file (${changes}); start this one under another id`,
      );
    if (existing === undefined || hashOf(existing.comparison) !== hashOf(comparison))
      await folder.write(comparison);
    const runs = armRuns(id, comparison);
    const of = (measure: { arms: string[]; seeds: number[] } | null): ArmRun[] =>
      runs.filter(
        ({ arm, seed }) => measure !== null && measure.arms.includes(arm) && measure.seeds.includes(seed),
      );
    return {
      id,
      runs,
      concurrency: comparison.concurrency,
      crossPlay: of(comparison.crossPlay),
      probes: of(comparison.probes),
    };
  };
}

/**
 * Whether this worker has the world, and the world can serve the arm: found now, not by the arm's first run.
 */
async function checkWorld({ loadWorld }: Dependencies, arm: string, experiment: Experiment): Promise<void> {
  try {
    workflowSettings(experiment, await loadWorld(experiment.world));
  } catch (error) {
    throw error instanceof InvalidConfig
      ? new InvalidConfig(`comparison: arms.${arm}: ${error.message.replace(/^experiment: /, '')}`)
      : error;
  }
}

/** What the runs follow from. @param before says which runs: those of its arms and seeds */
const decisive = ({ name, seeds, arms }: Comparison, before?: Comparison): object => ({
  name,
  seeds: before === undefined ? seeds : before.seeds.filter((seed) => seeds.includes(seed)),
  arms:
    before === undefined
      ? arms
      : Object.fromEntries(Object.entries(arms).filter(([arm]) => arm in before.arms)),
});

/** The experiment file of one run of a comparison. */
export function createArmExperiment(dependencies: Dependencies) {
  return async ({ id, run }: ArmRunInput): Promise<Experiment> =>
    experimentOf(await readComparison(dependencies, id), run);
}

export const experimentOf = (
  { arms }: Comparison,
  { arm, seed }: Pick<ArmRun, 'arm' | 'seed'>,
): Experiment => ({ ...arms[arm]!, seed });

/**
 * Which epochs of a run meet each other.
 * @throws InvalidConfig where the run has not all of them
 */
export function createPlanCrossPlay(dependencies: Dependencies) {
  return async ({ id, run }: ArmRunInput): Promise<CrossPlayPlan> => {
    const comparison = await readComparison(dependencies, id);
    const { checkpoints, tasks, samples } = comparison.crossPlay!;
    return {
      ...(await checkpointsOf(dependencies, comparison, run, (last) => evenlySpaced(last, checkpoints))),
      tasks,
      samples,
    };
  };
}

/**
 * Which agents of a run are probed: neither the warm one, which has learnt nothing here, nor the last alone.
 * @throws InvalidConfig where the run has not all of the epochs
 */
export function createPlanProbes(dependencies: Dependencies) {
  return async ({ id, run }: ArmRunInput): Promise<ProbePlan> => {
    const comparison = await readComparison(dependencies, id);
    const { checkpoints, tasks, attempts } = comparison.probes!;
    return {
      ...(await checkpointsOf(dependencies, comparison, run, (last) => evenlyWithin(last, checkpoints))),
      tasks,
      attempts,
    };
  };
}

/**
 * A finished run at some of its epochs, for what is measured afterwards.
 * @throws InvalidConfig where the run has not all of them
 */
export async function checkpointsOf(
  dependencies: Dependencies,
  comparison: Comparison,
  run: ArmRun,
  epochs: (last: number) => number[],
): Promise<RunCheckpoints> {
  const experiment = experimentOf(comparison, run);
  const opened = await dependencies.runFolder(run.id).open<LedgerEntry>();
  const lines = (await opened?.ledger.read()) ?? [];
  const checkpoints = epochs(experiment.epochs).map((epoch) => {
    const line = lines.find((one) => one.epoch === epoch);
    if (line === undefined)
      throw new InvalidConfig(
        `comparison: ${run.id} has no epoch ${epoch}; its ledger ends with ${lines.at(-1)?.epoch ?? 'none'}`,
      );
    return { epoch, state: line.outputs.state };
  });
  const { heartbeatSeconds, maxPhaseAttempts } = experiment.durability;
  return {
    run: { id: run.id, experiment: await dependencies.store.putJson(experiment) },
    settings: { heartbeatSeconds, maxPhaseAttempts },
    checkpoints,
  };
}

/** A comparison that was begun. @throws InvalidConfig where its file is gone */
export async function readComparison({ comparisonFolder }: Dependencies, id: string): Promise<Comparison> {
  const folder = comparisonFolder(id);
  const found = await folder.read();
  if (found === undefined)
    throw new InvalidConfig(
      `comparison: ${folder.comparisonFile} is missing; start the comparison again with its file`,
    );
  return found.comparison;
}
