import { CancelledFailure } from '@temporalio/common';
import {
  ApplicationFailure,
  ChildWorkflowFailure,
  startChild,
  TerminatedFailure,
  TimeoutFailure,
  WorkflowIdReusePolicy,
  workflowInfo,
} from '@temporalio/workflow';
import type { CommittedEpoch } from '../types/activity-types.ts';
import { epochWorkflowId } from '../formats/epoch-id.ts';
import type { EpochInput, epochWorkflow } from './epoch.ts';
import type { RunControls } from './run-controls.ts';

/**
 * Runs an epoch as a child workflow. If an earlier run of this experiment, or a reset, left one running, it
 * is terminated; what it has made is found.
 */
export async function runChildEpoch(input: EpochInput, controls: RunControls): Promise<CommittedEpoch> {
  const { epoch, settings } = input;
  const child = await startChild<typeof epochWorkflow>('epoch', {
    args: [input],
    workflowId: epochWorkflowId(workflowInfo().workflowId, epoch),
    // eslint-disable-next-line @typescript-eslint/no-deprecated -- children have no conflict policy yet
    workflowIdReusePolicy: WorkflowIdReusePolicy.TERMINATE_IF_RUNNING,
    staticSummary: `Epoch ${epoch} of ${settings.epochs}: ${settings.name} (${settings.arm})`,
  });
  return controls.awaitEpoch(child, input.paused);
}

/**
 * Whether to run an epoch, or the preparation, again after this failure: the epoch was terminated, cancelled
 * by itself or timed out, or an artifact is damaged, in which case opening the run again steps back before
 * it. Every step finds what it has already made, and committing twice returns the line that is there.
 */
export function isRetryableEpochFailure(error: unknown): boolean {
  const cause = error instanceof ChildWorkflowFailure ? error.cause : undefined;
  return (
    cause instanceof TerminatedFailure ||
    cause instanceof TimeoutFailure ||
    cause instanceof CancelledFailure ||
    failureType(error) === 'InvalidArtifact'
  );
}

/** Type of the innermost application failure. */
export function failureType(error: unknown): string | undefined {
  let type: string | undefined;
  for (let cause: unknown = error; cause instanceof Error; cause = cause.cause)
    if (cause instanceof ApplicationFailure) type = cause.type ?? undefined;
  return type;
}

/** Message of the innermost error, which says what a person needs to know. A cancellation comes without one. */
export function rootMessage(error: unknown): string {
  let root = error;
  while (root instanceof Error && root.cause instanceof Error) root = root.cause;
  if (root instanceof CancelledFailure && root.message === '') return 'it was cancelled';
  return root instanceof Error ? root.message : String(root);
}
