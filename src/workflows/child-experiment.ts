import { WorkflowExecutionAlreadyStartedError } from '@temporalio/common';
import { ApplicationFailure, sleep, startChild } from '@temporalio/workflow';
import type { ChildWorkflowHandle } from '@temporalio/workflow';
import type { Experiment } from '../config/experiment.ts';
import { experiment } from './experiment.ts';

/**
 * Starts an experiment as a child of a night or a comparison. One that still runs under the id is waited for:
 * terminating the parent ends its children too, a moment later.
 */
export async function startChildExperiment(
  id: string,
  file: Experiment,
  staticSummary: string,
  failureType: string,
): Promise<ChildWorkflowHandle<typeof experiment>> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await startChild(experiment, { args: [file], workflowId: id, staticSummary });
    } catch (error) {
      if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
      if (attempt === 10)
        throw ApplicationFailure.nonRetryable(
          `${id} is running already, started by something else; wait for its end, or terminate it`,
          failureType,
        );
      await sleep('1s');
    }
  }
}
