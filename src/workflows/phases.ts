import { ActivityCancellationType, proxyActivities, workflowInfo } from '@temporalio/workflow';
import type { CpuActivities, GpuActivities, LlmActivities } from '../activities/index.ts';
import type { WorkflowSettings } from '../contracts/phases.ts';
import { outlastWorkers } from './outlast-workers.ts';
import { queues } from './queues.ts';

const retry = { initialInterval: '200ms', backoffCoefficient: 2, maximumInterval: '30s' } as const;
const day = '1 day';

const reading = proxyActivities<CpuActivities>({
  taskQueue: queues.cpu,
  startToCloseTimeout: '1 minute',
  heartbeatTimeout: '10s',
  retry,
});
/** Reading the experiment file: wrong input fails at once and for good. */
export const { parseExperiment } = outlastWorkers({ parseExperiment: reading.parseExperiment });

/**
 * The phases of an epoch. All beat as they make progress, so a worker that died is noticed within a heartbeat timeout; none loses an attempt
 * to a worker that is told to stop. Experiments that wait for one queue take turns, where the server knows fairness.
 */
export function phases({
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
  return outlastWorkers({
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
