import { proxyActivities } from '@temporalio/workflow';
import type {
  ComparisonActivities,
  EvaluationCpuActivities,
  NightlyActivities,
} from '../activities/index.ts';
import { outlastWorkers } from './outlast-workers.ts';
import { queues } from './queues.ts';

/** Seconds of work on files. The heartbeat timeout says how soon a worker that died is noticed. */
const onFiles = {
  taskQueue: queues.cpu,
  startToCloseTimeout: '10 minutes',
  heartbeatTimeout: '10s',
  retry: { initialInterval: '200ms', backoffCoefficient: 2, maximumInterval: '30s', maximumAttempts: 100 },
} as const;

const night = proxyActivities<NightlyActivities>(onFiles);
/** What a night does beside its experiment. */
export const nightActivities = outlastWorkers({
  openNight: night.openNight,
  compareAgents: night.compareAgents,
  closeNight: night.closeNight,
  failNight: night.failNight,
});

const comparison = proxyActivities<ComparisonActivities>(onFiles);
// Rankings are simulated in one go, seconds for each probed agent on a busy machine.
const summing = proxyActivities<ComparisonActivities>({ ...onFiles, heartbeatTimeout: '5 minutes' });
/** What a comparison does beside its experiments. */
export const comparisonActivities = outlastWorkers({
  parseComparison: comparison.parseComparison,
  armExperiment: comparison.armExperiment,
  planCrossPlay: comparison.planCrossPlay,
  planProbes: comparison.planProbes,
  summarizeComparison: summing.summarizeComparison,
});

// Engines of suites start in here, in seconds each.
const evaluating = proxyActivities<EvaluationCpuActivities>({ ...onFiles, heartbeatTimeout: '5 minutes' });
/** What an evaluation does beside asking and judging. */
export const evaluationActivities = outlastWorkers({
  planEvaluation: evaluating.planEvaluation,
  planRescoring: evaluating.planRescoring,
  scoreEvaluation: evaluating.scoreEvaluation,
});
