import type { NativeConnection } from '@temporalio/worker';
import { isRunId } from '../store/phase-cache.ts';
import { searchAttributeKeys } from '../workflows/progress.ts';
import { MAX_SHOWN_RUNS } from './run-metrics.ts';
import type { RunningWorkflow } from './run-metrics.ts';

const ANSWER_MS = 2_000;

/** The experiments whose workflows run, the newest first. @throws if Temporal does not answer */
export async function listRunningExperiments(
  connection: NativeConnection,
  namespace: string,
): Promise<RunningWorkflow[]> {
  const { executions } = await connection.withDeadline(Date.now() + ANSWER_MS, () =>
    connection.workflowService.listWorkflowExecutions({
      namespace,
      pageSize: MAX_SHOWN_RUNS,
      query: 'WorkflowType = "experiment" AND ExecutionStatus = "Running"',
    }),
  );
  return executions.flatMap(({ execution, startTime, searchAttributes }) => {
    const status = searchAttributes?.indexedFields?.[searchAttributeKeys.status.name]?.data;
    const id = execution?.workflowId ?? '';
    // Whoever may start workflows chooses ids, and a run's is the name of a folder.
    if (!isRunId(id)) return [];
    return {
      id,
      startedAt: new Date(Number(startTime?.seconds ?? 0) * 1000),
      isPaused: status instanceof Uint8Array && Buffer.from(status).toString() === '"paused"',
    };
  });
}
