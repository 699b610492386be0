import { createCrossPlay, createCrossTasks } from './comparison/cross-play.ts';
import {
  createArmExperiment,
  createParseComparison,
  createPlanCrossPlay,
  createPlanProbes,
} from './comparison/plan-comparison.ts';
import { createMeasureGradients, createProbeAttempts, createProbeTasks } from './comparison/probes.ts';
import { createSummarizeComparison } from './comparison/summarize-comparison.ts';
import type { Dependencies } from './dependencies.ts';
import { createAnswerCases } from './evaluation/answer-cases.ts';
import { createJudgeCases } from './evaluation/judge-cases.ts';
import { createPlanEvaluation, createPlanRescoring } from './evaluation/plan-evaluation.ts';
import { createScoreEvaluation } from './evaluation/score-evaluation.ts';
import { createBuildTaskDataset } from './experiment/build-task-dataset.ts';
import { createCheckColdStart } from './experiment/check-cold-start.ts';
import { createCheckForgetting } from './experiment/check-forgetting.ts';
import { createCommitEpoch } from './experiment/commit-epoch.ts';
import { createComputeRewards } from './experiment/compute-rewards.ts';
import { createDrawTasks } from './experiment/draw-tasks.ts';
import { createEvaluatePolicy } from './experiment/evaluate-policy.ts';
import { createFilterByDifficulty } from './experiment/filter-by-difficulty.ts';
import { createGenerateTasks } from './experiment/generate-tasks.ts';
import { createOpenEpoch } from './experiment/open-epoch.ts';
import { createParseExperiment } from './experiment/parse-experiment.ts';
import { createPrepareRun } from './experiment/prepare-run.ts';
import { createPublishPolicy } from './experiment/publish-policy.ts';
import { createRecordOutcome } from './experiment/record-outcome.ts';
import { createRetuneExperiment } from './experiment/retune-experiment.ts';
import { createRunRollouts } from './experiment/run-rollouts.ts';
import { createTrainAgent } from './experiment/train-agent.ts';
import { createTrainSimulator } from './experiment/train-simulator.ts';
import { createUpdatePools } from './experiment/update-pools.ts';
import { createWarmUp } from './experiment/warm-up.ts';
import { createCloseNight, createFailNight } from './nightly/close-night.ts';
import { createOpenNight } from './nightly/open-night.ts';
import { createPlanPromotionTrial } from './nightly/plan-promotion-trial.ts';

/*
 * What a worker registers, by task queue: `llm` waits for model servers, `cpu` computes, `gpu` needs the
 * device. The keys are the activity types on the wire; a factory has the name of its file.
 */

export const createLlmActivities = (dependencies: Dependencies) => ({
  prepareRun: createPrepareRun(dependencies),
  writePool: createBuildTaskDataset(dependencies),
  generateTasks: createGenerateTasks(dependencies),
  rollOut: createRunRollouts(dependencies),
  publishPolicy: createPublishPolicy(dependencies),
  checkColdStart: createCheckColdStart(dependencies),
  gateAgent: createCheckForgetting(dependencies),
  evaluatePolicy: createEvaluatePolicy(dependencies),
  crossTasks: createCrossTasks(dependencies),
  crossPlay: createCrossPlay(dependencies),
  probeTasks: createProbeTasks(dependencies),
  probeAttempts: createProbeAttempts(dependencies),
});

export const createCpuActivities = (dependencies: Dependencies) => ({
  parseExperiment: createParseExperiment(dependencies),
  openEpoch: createOpenEpoch(dependencies),
  retuneExperiment: createRetuneExperiment(dependencies),
  recordEnd: createRecordOutcome(dependencies),
  drawTasks: createDrawTasks(dependencies),
  computeRewards: createComputeRewards(dependencies),
  filterByDifficulty: createFilterByDifficulty(dependencies),
  updatePools: createUpdatePools(dependencies),
  commitEpoch: createCommitEpoch(dependencies),
});

export const createGpuActivities = (dependencies: Dependencies) => ({
  warmUp: createWarmUp(dependencies),
  trainAgent: createTrainAgent(dependencies),
  trainEnvironment: createTrainSimulator(dependencies),
  measureGradients: createMeasureGradients(dependencies),
});

export const createNightlyActivities = (dependencies: Dependencies) => ({
  openNight: createOpenNight(dependencies),
  compareAgents: createPlanPromotionTrial(dependencies),
  closeNight: createCloseNight(dependencies),
  failNight: createFailNight(dependencies),
});

export const createComparisonActivities = (dependencies: Dependencies) => ({
  parseComparison: createParseComparison(dependencies),
  armExperiment: createArmExperiment(dependencies),
  planCrossPlay: createPlanCrossPlay(dependencies),
  planProbes: createPlanProbes(dependencies),
  summarizeComparison: createSummarizeComparison(dependencies),
});

export const createEvaluationLlmActivities = (dependencies: Dependencies) => ({
  answerCases: createAnswerCases(dependencies),
});

export const createEvaluationCpuActivities = (dependencies: Dependencies) => ({
  planEvaluation: createPlanEvaluation(dependencies),
  planRescoring: createPlanRescoring(dependencies),
  judgeCases: createJudgeCases(dependencies),
  scoreEvaluation: createScoreEvaluation(dependencies),
});

/** What a worker of each queue serves. */
export const activitiesByQueue = (dependencies: Dependencies) => ({
  llm: { ...createLlmActivities(dependencies), ...createEvaluationLlmActivities(dependencies) },
  cpu: {
    ...createCpuActivities(dependencies),
    ...createNightlyActivities(dependencies),
    ...createComparisonActivities(dependencies),
    ...createEvaluationCpuActivities(dependencies),
    // Runs that were begun before it asked model servers have scheduled it here.
    prepareRun: createPrepareRun(dependencies),
  },
  gpu: createGpuActivities(dependencies),
});

export type EvaluationLlmActivities = ReturnType<typeof createEvaluationLlmActivities>;
export type EvaluationCpuActivities = ReturnType<typeof createEvaluationCpuActivities>;
export type LlmActivities = ReturnType<typeof createLlmActivities>;
export type CpuActivities = ReturnType<typeof createCpuActivities>;
export type GpuActivities = ReturnType<typeof createGpuActivities>;
export type NightlyActivities = ReturnType<typeof createNightlyActivities>;
export type ComparisonActivities = ReturnType<typeof createComparisonActivities>;
