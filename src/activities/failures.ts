import { ApplicationFailure, ApplicationFailureCategory, CancelledFailure } from '@temporalio/common';
import type { WorkerStopped } from '../contracts/worker-stopped.ts';
import { ModelUnavailable } from '../policies/policy-server.ts';

const workerStopped: WorkerStopped = 'WorkerStopped';

/** Errors that the same call would meet again: they fail the epoch at once. All others are tried again. */
const final = new Set([
  'InvalidConfig',
  'InvalidArtifact',
  'RequestRefused',
  'LedgerConflict',
  'NotSerializable',
]);

/** What an activity reports to Temporal: the error's name as type, and whether to try again, and when. */
export function toFailure(error: unknown): unknown {
  if (
    !(error instanceof Error) ||
    error instanceof ApplicationFailure ||
    error instanceof CancelledFailure ||
    error.name === 'AbortError' ||
    error.name === 'CancelledFailure'
  )
    return error;
  return ApplicationFailure.create({
    message: error.message,
    type: error.name,
    nonRetryable: final.has(error.name),
    cause: error,
    ...(error instanceof ModelUnavailable && error.retryAfterMs !== undefined
      ? { nextRetryDelay: error.retryAfterMs }
      : {}),
  });
}

/**
 * What an activity reports that its stopping worker interrupted, whatever it threw. Not retryable: a retry by the server would use up one of
 * the phase's attempts, so the workflow schedules the activity again (src/workflows/outlast-workers.ts).
 */
export const toWorkerStopped = (activity: string): ApplicationFailure =>
  ApplicationFailure.create({
    message: `the worker of ${activity} was told to stop; another goes on with it`,
    type: workerStopped,
    nonRetryable: true,
    category: ApplicationFailureCategory.BENIGN,
  });
