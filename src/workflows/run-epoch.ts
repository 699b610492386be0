import { ApplicationFailure, ChildWorkflowFailure, executeChild, sleep, TerminatedFailure, TimeoutFailure, workflowInfo } from '@temporalio/workflow';
import { WorkflowExecutionAlreadyStartedError } from '@temporalio/common';
import type { Committed } from '../contracts/phases.ts';
import { epoch } from './epoch.ts';
import type { EpochInput } from './epoch.ts';

const attempts = 5;

/**
 * Runs an epoch as a child workflow. One that was terminated, timed out or met a damaged artifact is run again: every phase
 * finds what it has already made, so that costs little, and committing twice returns the line that is there.
 */
export async function runEpoch(input: EpochInput): Promise<Committed> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await executeChild(epoch, {
        args: [input],
        workflowId: `${workflowInfo().workflowId}/epoch-${String(input.epoch).padStart(4, '0')}`,
        staticSummary: `Epoch ${input.epoch} of ${input.settings.epochs}: ${input.settings.name} (${input.settings.arm})`,
      });
    } catch (error) {
      if (attempt === attempts || !mayRunAgain(error)) throw error;
      await sleep('1s');
    }
  }
}

function mayRunAgain(error: unknown): boolean {
  // The epoch of an earlier run of this parent is still ending.
  if (error instanceof WorkflowExecutionAlreadyStartedError) return true;
  if (!(error instanceof ChildWorkflowFailure)) return false;
  const { cause } = error;
  if (cause instanceof TerminatedFailure || cause instanceof TimeoutFailure) return true;
  for (let at: Error | undefined = cause; at; at = at.cause as Error | undefined) if (at instanceof ApplicationFailure) return at.type === 'InvalidArtifact';
  return false;
}
