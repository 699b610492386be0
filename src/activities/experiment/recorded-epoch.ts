import { parseExperiment } from '../../config/parse-experiment.ts';
import type { LedgerEntry } from '../../runs/ledger-entry.ts';
import type { OpenedRun, RunFolder } from '../../runs/run-folder.ts';
import { experimentInEffect, workflowSettings } from '../../runs/settings-in-effect.ts';
import { runEpochPipeline, runPreparation } from '../../epochs/epoch-pipeline.ts';
import type { PipelineActivities, PhaseRunner } from '../../epochs/pipeline-activities.ts';
import { InvalidArtifact } from '../../store/errors.ts';
import type { CommitInput } from '../../types/activity-inputs.ts';
import type { Run } from '../../types/run-state.ts';
import type { Dependencies } from '../dependencies.ts';
import { createBuildTaskDataset } from './build-task-dataset.ts';
import { createCheckColdStart } from './check-cold-start.ts';
import { createCheckForgetting } from './check-forgetting.ts';
import { createComputeRewards } from './compute-rewards.ts';
import { createDrawTasks } from './draw-tasks.ts';
import { createEvaluatePolicy } from './evaluate-policy.ts';
import { createFilterByDifficulty } from './filter-by-difficulty.ts';
import { createGenerateTasks } from './generate-tasks.ts';
import { createPrepareRun } from './prepare-run.ts';
import { createRunRollouts } from './run-rollouts.ts';
import { createTrainAgent } from './train-agent.ts';
import { createTrainSimulator } from './train-simulator.ts';
import { createUpdatePools } from './update-pools.ts';
import { createWarmUp } from './warm-up.ts';

/**
 * What an epoch of a run commits, by its phases' own records: each phase is looked up under the hash of what
 * the phases before it recorded, from the ledger's last line on and under the settings in effect. Nothing is
 * done again, and nothing is taken from whoever asks for the commit.
 * @param lines the ledger, up to the epoch before
 * @throws InvalidArtifact if a phase has recorded nothing, or an object that it recorded is missing
 */
export async function recordedEpoch(
  dependencies: Dependencies,
  folder: RunFolder,
  { experiment: file, fork }: OpenedRun<LedgerEntry>,
  { epoch, lines }: { epoch: number; lines: readonly LedgerEntry[] },
): Promise<CommitInput> {
  const experiment = await experimentInEffect(folder, parseExperiment(file), epoch);
  const settings = workflowSettings(experiment, await dependencies.loadWorld(experiment.world));
  const run: Run = { id: folder.id, experiment: await dependencies.store.putJson(experiment) };
  const activities = recordedPhases(dependencies);
  if (epoch === 0) return runPreparation(activities, { run, settings }, runner);
  const before = lines.at(-1) ?? fork?.line;
  if (before?.epoch !== epoch - 1)
    throw new InvalidArtifact(folder.ledgerFile, `the line of epoch ${epoch - 1} is gone`);
  return runEpochPipeline(activities, { run, settings, epoch, state: before.outputs.state }, runner);
}

const runner: PhaseRunner = { run: (_, work) => work(), seconds: () => ({}) };

/** The phases of an epoch, which find what they have recorded. */
function recordedPhases(own: Dependencies): PipelineActivities<CommitInput> {
  const dependencies: Dependencies = { ...own, recordedOnly: true };
  return {
    warmUp: createWarmUp(dependencies),
    prepareRun: createPrepareRun(dependencies),
    checkColdStart: createCheckColdStart(dependencies),
    writePool: createBuildTaskDataset(dependencies),
    generateTasks: createGenerateTasks(dependencies),
    drawTasks: createDrawTasks(dependencies),
    rollOut: createRunRollouts(dependencies),
    computeRewards: createComputeRewards(dependencies),
    filterByDifficulty: createFilterByDifficulty(dependencies),
    updatePools: createUpdatePools(dependencies),
    trainAgent: createTrainAgent(dependencies),
    trainEnvironment: createTrainSimulator(dependencies),
    publishPolicy: () => Promise.resolve(),
    gateAgent: createCheckForgetting(dependencies),
    evaluatePolicy: createEvaluatePolicy(dependencies),
    commitEpoch: (input) => Promise.resolve(input),
  };
}
