import { ActivityFailure, ApplicationFailure } from '@temporalio/workflow';
import type { OutageDetails } from '../types/outage-types.ts';

/**
 * What an activity's failure says of a model server or store that is away; undefined for every other failure.
 * A failure in an old history may name no server. Then it is an outage if Temporal ended the activity at its first
 * attempt, as it does for today's workflows; if it retried the activity, the failure is final.
 */
export function outageOf(error: unknown): { type: string; details: OutageDetails } | undefined {
  if (!(error instanceof ActivityFailure) || !(error.cause instanceof ApplicationFailure)) return undefined;
  const { type, details, message } = error.cause;
  if (type !== 'ModelUnavailable' && type !== 'ModelNotServed' && type !== 'StoreUnavailable')
    return undefined;
  const outage = details?.[0] as OutageDetails | undefined;
  if (outage) return { type, details: outage };
  if (type === 'StoreUnavailable') return undefined;
  if (error.retryState !== 'NON_RETRYABLE_FAILURE') return undefined;
  return { type, details: { server: 'the model server', reason: message.slice(0, 200), progressed: false } };
}
