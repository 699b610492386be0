import { ActivityCancellationType, proxyActivities } from '@temporalio/workflow';
import type { CpuActivities, GpuActivities, LlmActivities } from '../activities/index.ts';
import type { WorkflowSettings } from '../contracts/phases.ts';
import { queues } from './queues.ts';

const retry = { initialInterval: '200ms', backoffCoefficient: 2, maximumInterval: '30s' } as const;
const day = '1 day';

/** Reading the experiment file: wrong input fails at once and for good. */
export const { parseExperiment } = proxyActivities<CpuActivities>({ taskQueue: queues.cpu, startToCloseTimeout: '1 minute', heartbeatTimeout: '10s', retry });

/** The phases of an epoch. All beat as they make progress, so a worker that died is noticed within a heartbeat timeout. */
export function phases({ heartbeatSeconds, maxPhaseAttempts }: Pick<WorkflowSettings, 'heartbeatSeconds' | 'maxPhaseAttempts'>): CpuActivities & LlmActivities & GpuActivities {
  const beating = {
    startToCloseTimeout: day,
    heartbeatTimeout: heartbeatSeconds * 1000,
    cancellationType: ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
    retry: { ...retry, maximumAttempts: maxPhaseAttempts },
  };
  const cpu = proxyActivities<CpuActivities>({ taskQueue: queues.cpu, ...beating });
  const llm = proxyActivities<LlmActivities>({ taskQueue: queues.llm, ...beating });
  const gpu = proxyActivities<GpuActivities>({ taskQueue: queues.gpu, ...beating });
  return {
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
    generateTasks: llm.generateTasks,
    rollOut: llm.rollOut,
    evaluatePolicy: llm.evaluatePolicy,
    warmUp: gpu.warmUp,
    trainAgent: gpu.trainAgent,
    trainEnvironment: gpu.trainEnvironment,
    publishPolicy: gpu.publishPolicy,
  };
}
