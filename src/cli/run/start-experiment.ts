import { isGrpcServiceError, WorkflowNotFoundError } from '@temporalio/client';
import type { Client, WorkflowHandle } from '@temporalio/client';
import { armName } from '../../config/arms.ts';
import type { Experiment } from '../../config/experiment.ts';
import { experimentHash } from '../../runs/run-state.ts';
import { InvalidConfig } from '../../validation/invalid-config.ts';
import { queues } from '../../workflows/activity-proxies.ts';
import type { experimentWorkflow } from '../../workflows/experiment.ts';

export type ExperimentHandle = WorkflowHandle<typeof experimentWorkflow>;

export interface Started {
  handle: ExperimentHandle;
  /** It was running already. */
  attached: boolean;
}

export interface Start {
  id: string;
  raw: unknown;
  experiment: Experiment;
  /** When the run was last rewound; null if never. */
  rewoundAt: Date | null;
}

/**
 * Starts the experiment's workflow, or gives the one that runs under this id. One that a server kept while
 * its run was rewound is at work on epochs that are no more: it is ended, and the run goes on from its files.
 * @throws InvalidConfig where that one runs another file
 */
export async function startExperiment(
  client: Client,
  { id, raw, experiment, rewoundAt }: Start,
): Promise<Started> {
  const hash = experimentHash(experiment);
  const found = await runningWorkflow(client, id);
  const outdated = found !== null && rewoundAt !== null && found.startTime < rewoundAt;
  const running = outdated ? null : found;
  const runningHash = running?.memo?.experimentHash;
  if (runningHash !== undefined && runningHash !== hash) {
    throw new InvalidConfig(
      `experiment: the id ${JSON.stringify(id)} is running with another experiment file; wait until it has ended, or give --id another`,
    );
  }
  const handle = await client.workflow.start<typeof experimentWorkflow>('experiment', {
    taskQueue: queues.workflows,
    workflowId: id,
    args: [raw],
    workflowIdConflictPolicy: outdated ? 'TERMINATE_EXISTING' : 'USE_EXISTING',
    workflowIdReusePolicy: 'ALLOW_DUPLICATE',
    memo: { experimentHash: hash },
    staticSummary:
      `${experiment.name}: ${experiment.epochs} epochs, ${armName(experiment.arm)}, seed ${experiment.seed}`.slice(
        0,
        200,
      ),
  });
  // By id alone: it continues as new.
  return {
    handle: client.workflow.getHandle<typeof experimentWorkflow>(handle.workflowId),
    attached: running !== null,
  };
}

/** Other experiments that this server's workers go on with; none where the server cannot list. */
export async function alsoRunning(client: Client, id: string): Promise<string[]> {
  const found: string[] = [];
  try {
    for await (const { workflowId } of client.workflow.list({
      query: 'WorkflowType = "experiment" AND ExecutionStatus = "Running"',
    }))
      if (workflowId !== id) found.push(workflowId);
  } catch (error) {
    if (!isGrpcServiceError(error)) throw error;
  }
  return found;
}

/** The workflow that runs under an id; null where none does. */
export async function runningWorkflow(
  client: Client,
  id: string,
): Promise<{ memo: Record<string, unknown> | undefined; startTime: Date } | null> {
  try {
    const { status, memo, startTime } = await client.workflow.getHandle(id).describe();
    return status.name === 'RUNNING' ? { memo, startTime } : null;
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return null;
    throw error;
  }
}
