/** Ids of epochs, and of the workflows that run them. */

/** As in records and folders: `epoch-0007`. */
export const epochId = (epoch: number): string => `epoch-${String(epoch).padStart(4, '0')}`;

/** The id of an epoch's workflow: `laptop/epoch-0007`. The preparation, epoch 0, runs in the run's own. */
export const epochWorkflowId = (run: string, epoch: number): string =>
  epoch === 0 ? run : `${run}/${epochId(epoch)}`;

/** The run and, for the workflow of an epoch, the epoch that the id of a workflow names. */
export function runOfWorkflow(workflowId: string): { run: string; epoch?: number } {
  const [, run = workflowId, epoch] = /^(.*)\/epoch-(\d+)$/.exec(workflowId) ?? [];
  return { run, ...(epoch !== undefined && { epoch: Number(epoch) }) };
}
