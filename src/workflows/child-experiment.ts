import { WorkflowExecutionAlreadyStartedError } from '@temporalio/common';
import { ApplicationFailure, sleep, startChild } from '@temporalio/workflow';
import type { ChildWorkflowHandle } from '@temporalio/workflow';
import type { Experiment } from '../config/experiment.ts';
import type { experimentWorkflow } from './experiment.ts';

export type ChildExperimentHandle = ChildWorkflowHandle<typeof experimentWorkflow>;

const maxStartAttempts = 10;

/**
 * Starts an experiment as a child of a night or a comparison. If one still runs under the id, it is given a
 * few seconds to end: terminating a parent ends its children too, a moment later.
 */
export async function startChildExperiment(
  id: string,
  file: Experiment,
  staticSummary: string,
  failureType: string,
): Promise<ChildExperimentHandle> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await startChild<typeof experimentWorkflow>('experiment', {
        args: [file],
        workflowId: id,
        staticSummary,
      });
    } catch (error) {
      if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
      if (attempt === maxStartAttempts)
        throw ApplicationFailure.nonRetryable(
          `${id} is running already, started by something else; wait for its end, or terminate it`,
          failureType,
        );
      await sleep('1s');
    }
  }
}
