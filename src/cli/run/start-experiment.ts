import { isGrpcServiceError, WorkflowNotFoundError } from '@temporalio/client';
import type { Client, WorkflowHandle } from '@temporalio/client';
import type { Experiment } from '../../contracts/experiment.ts';
import { InvalidConfig } from '../../contracts/invalid-config.ts';
import type { experiment as experimentWorkflow } from '../../workflows/experiment.ts';
import { queues } from '../../workflows/queues.ts';
import { experimentHash } from './run-folders.ts';

export type ExperimentHandle = WorkflowHandle<typeof experimentWorkflow>;

export interface Started {
  handle: ExperimentHandle;
  /** It was running already. */
  attached: boolean;
}

/**
 * Starts the experiment's workflow, or gives the one that runs under this id.
 * @throws InvalidConfig where that one runs another file
 */
export async function startExperiment(client: Client, id: string, raw: unknown, experiment: Experiment): Promise<Started> {
  const hash = experimentHash(experiment);
  const running = await runningHash(client, id);
  if (running?.hash !== undefined && running.hash !== hash) {
    throw new InvalidConfig(`experiment: the id ${JSON.stringify(id)} is running with another experiment file; wait until it has ended, or give --id another`);
  }
  const handle = await client.workflow.start<typeof experimentWorkflow>('experiment', {
    taskQueue: queues.workflows,
    workflowId: id,
    args: [raw],
    workflowIdConflictPolicy: 'USE_EXISTING',
    workflowIdReusePolicy: 'ALLOW_DUPLICATE',
    memo: { experimentHash: hash },
    staticSummary: `${experiment.name}: ${experiment.epochs} epochs, ${armName(experiment)}, seed ${experiment.seed}`.slice(0, 200),
  });
  // By id alone: it continues as new.
  return { handle: client.workflow.getHandle<typeof experimentWorkflow>(handle.workflowId), attached: running !== null };
}

/** Other experiments that this server's workers go on with; none where the server cannot list. */
export async function alsoRunning(client: Client, id: string): Promise<string[]> {
  const found: string[] = [];
  try {
    for await (const { workflowId } of client.workflow.list({ query: 'WorkflowType = "experiment" AND ExecutionStatus = "Running"' })) if (workflowId !== id) found.push(workflowId);
  } catch (error) {
    if (!isGrpcServiceError(error)) throw error;
  }
  return found;
}

async function runningHash(client: Client, id: string): Promise<{ hash: unknown } | null> {
  try {
    const { status, memo } = await client.workflow.getHandle(id).describe();
    return status.name === 'RUNNING' ? { hash: memo?.experimentHash } : null;
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return null;
    throw error;
  }
}

export const armName = ({ arm }: Experiment): string => (arm.type === 'genenv' ? `genenv-${arm.preset}` : arm.type);
