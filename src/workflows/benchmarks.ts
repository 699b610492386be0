import { isCancellation, startChild, workflowInfo, WorkflowIdReusePolicy } from '@temporalio/workflow';
import { evaluationOfEpoch, isEvaluated } from '../evaluation/evaluation-of-epoch.ts';
import type { Committed, WorkflowSettings } from '../contracts/phases.ts';
import { evaluation } from './evaluation.ts';
import { rootMessage } from './run-epoch.ts';

/**
 * Evaluates the agent on benchmarks where the experiment file asks for it after this epoch; what was evaluated before is found. The run goes on
 * whatever comes of it.
 * @returns why it could not be done; undefined where it was done, or is not asked for
 */
export async function evaluateOnBenchmarks(
  { benchmarks, epochs }: WorkflowSettings,
  { epoch, line }: Committed,
): Promise<string | undefined> {
  if (benchmarks === undefined || !isEvaluated(epoch, benchmarks, epochs)) return undefined;
  const run = workflowInfo().workflowId;
  const id = evaluationOfEpoch(run, epoch, line);
  const { every, ...how } = benchmarks;
  try {
    const child = await startChild(evaluation, {
      args: [{ name: id, policy: { type: 'run', run, epoch }, ...how }],
      workflowId: id,
      // eslint-disable-next-line @typescript-eslint/no-deprecated -- children have no conflict policy yet
      workflowIdReusePolicy: WorkflowIdReusePolicy.TERMINATE_IF_RUNNING,
      staticSummary: `the agent of ${run} after epoch ${epoch}, as after every ${every}`,
    });
    await child.result();
    return undefined;
  } catch (error) {
    if (isCancellation(error)) throw error;
    return `epoch ${epoch}: it could not be evaluated on benchmarks: ${rootMessage(error)}`;
  }
}
