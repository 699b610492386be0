import type { Ports } from '../runtime/dependencies.ts';
import { createCrossPlay, createCrossTasks } from './comparison/cross-play.ts';
import {
  createArmExperiment,
  createParseComparison,
  createPlanCrossPlay,
  createPlanProbes,
} from './comparison/plan-comparison.ts';
import { createMeasureGradients, createProbeAttempts, createProbeTasks } from './comparison/probes.ts';
import { createSummarizeComparison } from './comparison/summarize-comparison.ts';
import { createAnswerCases } from './evaluation/answer-cases.ts';
import { createJudgeCases } from './evaluation/judge-cases.ts';
import { createPlanEvaluation, createPlanRescoring } from './evaluation/plan-evaluation.ts';
import { createScoreEvaluation } from './evaluation/score-evaluation.ts';
import { createWritePool } from './experiment/build-task-dataset.ts';
import { createGateAgent } from './experiment/check-forgetting.ts';
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
import { createRecordEnd } from './experiment/record-outcome.ts';
import { createRetuneExperiment } from './experiment/retune-experiment.ts';
import { createRollOut } from './experiment/run-rollouts.ts';
import { createTrainAgent } from './experiment/train-agent.ts';
import { createTrainEnvironment } from './experiment/train-simulator.ts';
import { createUpdatePools } from './experiment/update-pools.ts';
import { createWarmUp } from './experiment/warm-up.ts';
import {
  createCloseNight,
  createCompareAgents,
  createFailNight,
  createOpenNight,
} from './nightly/nightly.ts';

/** Activities by queue: what waits for model servers, what computes, what needs the device. */
export const createLlmActivities = (ports: Ports) => ({
  writePool: createWritePool(ports),
  generateTasks: createGenerateTasks(ports),
  rollOut: createRollOut(ports),
  publishPolicy: createPublishPolicy(ports),
  gateAgent: createGateAgent(ports),
  evaluatePolicy: createEvaluatePolicy(ports),
  crossTasks: createCrossTasks(ports),
  crossPlay: createCrossPlay(ports),
  probeTasks: createProbeTasks(ports),
  probeAttempts: createProbeAttempts(ports),
});

export const createCpuActivities = (ports: Ports) => ({
  parseExperiment: createParseExperiment(ports),
  openEpoch: createOpenEpoch(ports),
  retuneExperiment: createRetuneExperiment(ports),
  recordEnd: createRecordEnd(ports),
  prepareRun: createPrepareRun(ports),
  drawTasks: createDrawTasks(ports),
  computeRewards: createComputeRewards(ports),
  filterByDifficulty: createFilterByDifficulty(ports),
  updatePools: createUpdatePools(ports),
  commitEpoch: createCommitEpoch(ports),
});

export const createGpuActivities = (ports: Ports) => ({
  warmUp: createWarmUp(ports),
  trainAgent: createTrainAgent(ports),
  trainEnvironment: createTrainEnvironment(ports),
  measureGradients: createMeasureGradients(ports),
  // Scheduled here by runs of a version that published on this queue; they go on.
  publishPolicy: createPublishPolicy(ports),
});

/** Those of a nightly curriculum, on the queue of what computes. */
export const createNightlyActivities = (ports: Ports) => ({
  openNight: createOpenNight(ports),
  compareAgents: createCompareAgents(ports),
  closeNight: createCloseNight(ports),
  failNight: createFailNight(ports),
});

/** Those of a comparison of arms, on the queue of what computes. */
export const createComparisonActivities = (ports: Ports) => ({
  parseComparison: createParseComparison(ports),
  armExperiment: createArmExperiment(ports),
  planCrossPlay: createPlanCrossPlay(ports),
  planProbes: createPlanProbes(ports),
  summarizeComparison: createSummarizeComparison(ports),
});

/** Those of an evaluation on benchmarks: what asks, on the queue of model servers; what judges, on that of what computes. */
export const createEvaluationLlmActivities = (ports: Ports) => ({ answerCases: createAnswerCases(ports) });
export const createEvaluationCpuActivities = (ports: Ports) => ({
  planEvaluation: createPlanEvaluation(ports),
  planRescoring: createPlanRescoring(ports),
  judgeCases: createJudgeCases(ports),
  scoreEvaluation: createScoreEvaluation(ports),
});

/** What a worker of each queue serves. An activity that moves to another queue stays on its old one too, for what is scheduled there. */
export const activitiesByQueue = (ports: Ports) => ({
  llm: { ...createLlmActivities(ports), ...createEvaluationLlmActivities(ports) },
  cpu: {
    ...createCpuActivities(ports),
    ...createNightlyActivities(ports),
    ...createComparisonActivities(ports),
    ...createEvaluationCpuActivities(ports),
  },
  gpu: createGpuActivities(ports),
});

export type EvaluationLlmActivities = ReturnType<typeof createEvaluationLlmActivities>;
export type EvaluationCpuActivities = ReturnType<typeof createEvaluationCpuActivities>;
export type LlmActivities = ReturnType<typeof createLlmActivities>;
export type CpuActivities = ReturnType<typeof createCpuActivities>;
export type GpuActivities = ReturnType<typeof createGpuActivities>;
export type NightlyActivities = ReturnType<typeof createNightlyActivities>;
export type ComparisonActivities = ReturnType<typeof createComparisonActivities>;
