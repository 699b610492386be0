import { ActivityFailure, ApplicationFailure } from '@temporalio/workflow';
import type { OutageDetails } from '../types/outage-types.ts';

/** Types of failures that end an activity at once, and that its workflow waits for. */
export const outageTypes: string[] = ['ModelUnavailable', 'ModelNotServed', 'StoreUnavailable'];

/**
 * What an activity's failure says of a model server or store that is away; undefined for every other failure.
 * The failure of an older worker may name no server. Then it is an outage if Temporal ended the activity at its first
 * attempt, as it does for today's workflows; if it retried the activity, as in old histories, the failure is final.
 */
export function outageOf(error: unknown): { type: string; details: OutageDetails } | undefined {
  if (!(error instanceof ActivityFailure) || !(error.cause instanceof ApplicationFailure)) return undefined;
  const { type, details, message } = error.cause;
  if (typeof type !== 'string' || !outageTypes.includes(type)) return undefined;
  const outage = details?.[0] as OutageDetails | undefined;
  if (outage) return { type, details: outage };
  if (error.retryState !== 'NON_RETRYABLE_FAILURE') return undefined;
  const server = type === 'StoreUnavailable' ? 'the store' : 'the model server';
  return { type, details: { server, reason: message.slice(0, 200), progressed: false } };
}
