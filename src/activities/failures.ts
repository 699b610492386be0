import { ApplicationFailure, CancelledFailure } from '@temporalio/common';
import { ModelUnavailable } from '../policies/policy-server.ts';

/** Errors that the same call would meet again: they fail the epoch at once. All others are tried again. */
const final = new Set(['InvalidConfig', 'InvalidArtifact', 'RequestRefused', 'LedgerConflict', 'NotSerializable']);

/** What an activity reports to Temporal: the error's name as type, and whether to try again, and when. */
export function toFailure(error: unknown): unknown {
  if (!(error instanceof Error) || error instanceof ApplicationFailure || error instanceof CancelledFailure || error.name === 'AbortError' || error.name === 'CancelledFailure') return error;
  return ApplicationFailure.create({
    message: error.message,
    type: error.name,
    nonRetryable: final.has(error.name),
    cause: error,
    ...(error instanceof ModelUnavailable && error.retryAfterMs !== undefined ? { nextRetryDelay: error.retryAfterMs } : {}),
  });
}
