import { createArmExperiment } from './arm-experiment.ts';
import { createAnswerCases } from './benchmarks/answer-cases.ts';
import { createJudgeCases } from './benchmarks/judge-cases.ts';
import { createPlanEvaluation } from './benchmarks/plan-evaluation.ts';
import { createPlanRescoring } from './benchmarks/plan-rescoring.ts';
import { createScoreEvaluation } from './benchmarks/score-evaluation.ts';
import { createCloseNight } from './close-night.ts';
import { createCommitEpoch } from './commit-epoch.ts';
import { createCompareAgents } from './compare-agents.ts';
import { createComputeRewards } from './compute-rewards.ts';
import { createCrossPlay } from './cross-play.ts';
import { createCrossTasks } from './cross-tasks.ts';
import { createDrawTasks } from './draw-tasks.ts';
import { createEvaluatePolicy } from './evaluate-policy.ts';
import { createFailNight } from './fail-night.ts';
import { createFilterByDifficulty } from './filter-by-difficulty.ts';
import { createGateAgent } from './gate-agent.ts';
import { createGenerateTasks } from './generate-tasks.ts';
import { createMeasureGradients } from './measure-gradients.ts';
import { createOpenEpoch } from './open-epoch.ts';
import { createOpenNight } from './open-night.ts';
import { createParseComparison } from './parse-comparison.ts';
import { createParseExperiment } from './parse-experiment.ts';
import { createPlanCrossPlay } from './plan-cross-play.ts';
import { createPlanProbes } from './plan-probes.ts';
import type { Ports } from './ports.ts';
import { createPrepareRun } from './prepare-run.ts';
import { createProbeAttempts } from './probe-attempts.ts';
import { createProbeTasks } from './probe-tasks.ts';
import { createPublishPolicy } from './publish-policy.ts';
import { createRecordEnd } from './record-end.ts';
import { createRetuneExperiment } from './retune-experiment.ts';
import { createRollOut } from './roll-out.ts';
import { createSummarizeComparison } from './summarize-comparison.ts';
import { createTrainAgent } from './train-agent.ts';
import { createTrainEnvironment } from './train-environment.ts';
import { createUpdatePools } from './update-pools.ts';
import { createWarmUp } from './warm-up.ts';
import { createWritePool } from './write-pool.ts';

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
