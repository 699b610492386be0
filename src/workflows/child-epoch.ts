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
import { epoch } from './epoch.ts';
import type { EpochInput } from './epoch.ts';
import type { RunControls } from './run-controls.ts';

export const epochWorkflowId = (experiment: string, number: number): string =>
  `${experiment}/epoch-${String(number).padStart(4, '0')}`;

/**
 * Runs an epoch as a child workflow. One that an earlier run of this experiment left, or that was reset, ends
 * with that: what it has made is found.
 */
export async function runChildEpoch(input: EpochInput, controls: RunControls): Promise<CommittedEpoch> {
  const child = await startChild(epoch, {
    args: [input],
    workflowId: epochWorkflowId(workflowInfo().workflowId, input.epoch),
    // eslint-disable-next-line @typescript-eslint/no-deprecated -- children have no conflict policy yet
    workflowIdReusePolicy: WorkflowIdReusePolicy.TERMINATE_IF_RUNNING,
    staticSummary: `Epoch ${input.epoch} of ${input.settings.epochs}: ${input.settings.name} (${input.settings.arm})`,
  });
  return controls.follow(child, input.paused);
}

/**
 * Whether an epoch, or the preparation, that failed is run again: the epoch was terminated, cancelled by
 * itself or timed out, or a damaged artifact was met, which opening the run again steps back from. Every
 * phase finds what it has already made, and committing twice returns the line that is there.
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
  for (let at: unknown = error; at instanceof Error; at = at.cause)
    if (at instanceof ApplicationFailure) type = at.type ?? undefined;
  return type;
}

/** What a failure comes down to, as a person needs it. */
export function rootMessage(error: unknown): string {
  let root = error;
  while (root instanceof Error && root.cause instanceof Error) root = root.cause;
  return root instanceof Error ? root.message : String(root);
}
