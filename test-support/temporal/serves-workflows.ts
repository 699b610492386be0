import { status } from '@grpc/grpc-js';
import { isGrpcServiceError } from '@temporalio/client';
import type { Connection } from '@temporalio/client';

/**
 * Whether a server can start workflows: a frontend that answers may not have found the services behind it,
 * which keep histories and task queues.
 */
export async function servesWorkflows({ workflowService }: Connection): Promise<boolean> {
  const namespace = 'default';
  await workflowService.describeTaskQueue({ namespace, taskQueue: { name: 'genenv' } });
  try {
    await workflowService.describeWorkflowExecution({ namespace, execution: { workflowId: 'none' } });
  } catch (error) {
    return isGrpcServiceError(error) && error.code === status.NOT_FOUND;
  }
  return true;
}
