/**
 * What each activity accepts. The interceptor of every worker checks inputs by this table before an activity
 * runs, and the compiler refuses a table that lacks an activity or checks for another type.
 */
import type { z } from 'zod';
import * as experiment from '../types/activity-inputs.ts';
import * as comparison from '../types/comparison-inputs.ts';
import * as evaluation from '../types/evaluation-inputs.ts';
import * as nightly from '../types/nightly-inputs.ts';
import type { activitiesByQueue } from './index.ts';

type ByQueue = ReturnType<typeof activitiesByQueue>;
type Activities = ByQueue['llm'] & ByQueue['cpu'] & ByQueue['gpu'];

export const inputSchemas: { [Name in keyof Activities]: z.ZodType<Parameters<Activities[Name]>[0]> } = {
  parseExperiment: experiment.parseInput,
  openEpoch: experiment.openInput,
  retuneExperiment: experiment.retuneInput,
  recordEnd: experiment.endInput,
  warmUp: experiment.warmUpInput,
  prepareRun: experiment.prepareInput,
  publishPolicy: experiment.publishInput,
  checkColdStart: experiment.phaseInput,
  writePool: experiment.phaseInput,
  generateTasks: experiment.generateTasksInput,
  drawTasks: experiment.drawTasksInput,
  rollOut: experiment.rollOutInput,
  computeRewards: experiment.computeRewardsInput,
  filterByDifficulty: experiment.filterInput,
  updatePools: experiment.updatePoolsInput,
  trainAgent: experiment.trainAgentInput,
  trainEnvironment: experiment.trainEnvironmentInput,
  gateAgent: experiment.gateInput,
  evaluatePolicy: experiment.evaluateInput,
  commitEpoch: experiment.commitInput,
  parseComparison: experiment.parseInput,
  armExperiment: comparison.armRunInput,
  planCrossPlay: comparison.armRunInput,
  planProbes: comparison.armRunInput,
  crossTasks: comparison.crossTasksInput,
  crossPlay: comparison.crossPlayInput,
  probeTasks: comparison.probeTasksInput,
  probeAttempts: comparison.probeAttemptsInput,
  measureGradients: comparison.measureGradientsInput,
  summarizeComparison: comparison.summarizeInput,
  planEvaluation: experiment.parseInput,
  planRescoring: evaluation.planRescoringInput,
  answerCases: evaluation.answerInput,
  judgeCases: evaluation.judgeInput,
  scoreEvaluation: evaluation.scoreInput,
  openNight: nightly.openNightInput,
  compareAgents: nightly.candidateInput,
  closeNight: nightly.closeNightInput,
  failNight: nightly.failNightInput,
};
