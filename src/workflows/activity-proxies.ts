import {
  ActivityCancellationType,
  ActivityFailure,
  ApplicationFailure,
  proxyActivities,
  workflowInfo,
} from '@temporalio/workflow';
import type {
  ComparisonActivities,
  CpuActivities,
  EvaluationCpuActivities,
  GpuActivities,
  LlmActivities,
  NightlyActivities,
} from '../activities/index.ts';
import type { WorkerStopped, WorkflowSettings } from '../types/activity-types.ts';

/** Task queues: workflows, and activities by what they wait for. A worker may serve any of them. */
export const queues = {
  workflows: 'genenv',
  llm: 'genenv-llm',
  cpu: 'genenv-cpu',
  gpu: 'genenv-gpu',
} as const;

const workerStopped: WorkerStopped = 'WorkerStopped';

type Activity = (input: never) => Promise<unknown>;

/**
 * The activities, each scheduled again when the worker that ran it was told to stop: a deploy uses up none of
 * their attempts. Not bounded, since each time takes a worker that was stopped; a cancelled workflow
 * schedules nothing more.
 */
export const retryOnWorkerShutdown = <Activities extends Record<string, Activity>>(
  activities: Activities,
): Activities =>
  Object.fromEntries(
    Object.entries(activities).map(([name, activity]) => [
      name,
      (input: never) => retryWhileWorkersStop(() => activity(input)),
    ]),
  ) as Activities;

async function retryWhileWorkersStop(run: () => Promise<unknown>): Promise<unknown> {
  for (;;) {
    try {
      return await run();
    } catch (error) {
      if (!(
        error instanceof ActivityFailure &&
        error.cause instanceof ApplicationFailure &&
        error.cause.type === workerStopped
      ))
        throw error;
    }
  }
}

const retry = { initialInterval: '200ms', backoffCoefficient: 2, maximumInterval: '30s' } as const;
const day = '1 day';

const reading = proxyActivities<CpuActivities>({
  taskQueue: queues.cpu,
  startToCloseTimeout: '1 minute',
  heartbeatTimeout: '10s',
  retry,
});
/** Reading the experiment file: wrong input fails at once and for good. */
export const { parseExperiment } = retryOnWorkerShutdown({ parseExperiment: reading.parseExperiment });

/**
 * The phases of an epoch. All beat as they make progress, so a worker that died is noticed within a heartbeat
 * timeout; none loses an attempt to a worker that is told to stop. Experiments that wait for one queue take
 * turns, where the server knows fairness.
 */
export function phaseActivities({
  heartbeatSeconds,
  maxPhaseAttempts,
}: Pick<WorkflowSettings, 'heartbeatSeconds' | 'maxPhaseAttempts'>): CpuActivities &
  LlmActivities &
  GpuActivities {
  const beating = {
    startToCloseTimeout: day,
    heartbeatTimeout: heartbeatSeconds * 1000,
    cancellationType: ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
    retry: { ...retry, maximumAttempts: maxPhaseAttempts },
    priority: { fairnessKey: fairnessKey() },
  };
  const cpu = proxyActivities<CpuActivities>({ taskQueue: queues.cpu, ...beating });
  const llm = proxyActivities<LlmActivities>({ taskQueue: queues.llm, ...beating });
  const gpu = proxyActivities<GpuActivities>({ taskQueue: queues.gpu, ...beating });
  return retryOnWorkerShutdown({
    parseExperiment,
    openEpoch: cpu.openEpoch,
    retuneExperiment: cpu.retuneExperiment,
    recordEnd: cpu.recordEnd,
    prepareRun: cpu.prepareRun,
    drawTasks: cpu.drawTasks,
    computeRewards: cpu.computeRewards,
    filterByDifficulty: cpu.filterByDifficulty,
    updatePools: cpu.updatePools,
    commitEpoch: cpu.commitEpoch,
    writePool: llm.writePool,
    generateTasks: llm.generateTasks,
    rollOut: llm.rollOut,
    gateAgent: llm.gateAgent,
    evaluatePolicy: llm.evaluatePolicy,
    crossTasks: llm.crossTasks,
    crossPlay: llm.crossPlay,
    probeTasks: llm.probeTasks,
    probeAttempts: llm.probeAttempts,
    warmUp: gpu.warmUp,
    trainAgent: gpu.trainAgent,
    trainEnvironment: gpu.trainEnvironment,
    publishPolicy: llm.publishPolicy,
    measureGradients: gpu.measureGradients,
  });
}

/** The experiment's id, in the 64 bytes that Temporal allows; an epoch's id begins with it. */
const fairnessKey = (): string => workflowInfo().workflowId.split('/')[0]!.slice(0, 64);

/** Seconds of work on files. The heartbeat timeout says how soon a worker that died is noticed. */
const onFiles = {
  taskQueue: queues.cpu,
  startToCloseTimeout: '10 minutes',
  heartbeatTimeout: '10s',
  retry: { initialInterval: '200ms', backoffCoefficient: 2, maximumInterval: '30s', maximumAttempts: 100 },
} as const;

const night = proxyActivities<NightlyActivities>(onFiles);
/** What a night does beside its experiment. */
export const nightActivities = retryOnWorkerShutdown({
  openNight: night.openNight,
  compareAgents: night.compareAgents,
  closeNight: night.closeNight,
  failNight: night.failNight,
});

const comparison = proxyActivities<ComparisonActivities>(onFiles);
// Rankings are simulated in one go, seconds for each probed agent on a busy machine.
const summing = proxyActivities<ComparisonActivities>({ ...onFiles, heartbeatTimeout: '5 minutes' });
/** What a comparison does beside its experiments. */
export const comparisonActivities = retryOnWorkerShutdown({
  parseComparison: comparison.parseComparison,
  armExperiment: comparison.armExperiment,
  planCrossPlay: comparison.planCrossPlay,
  planProbes: comparison.planProbes,
  summarizeComparison: summing.summarizeComparison,
});

// Engines of suites start in here, in seconds each.
const evaluating = proxyActivities<EvaluationCpuActivities>({ ...onFiles, heartbeatTimeout: '5 minutes' });
/** What an evaluation does beside asking and judging. */
export const evaluationActivities = retryOnWorkerShutdown({
  planEvaluation: evaluating.planEvaluation,
  planRescoring: evaluating.planRescoring,
  scoreEvaluation: evaluating.scoreEvaluation,
});
