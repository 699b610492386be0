import { ActivityFailure, ApplicationFailure } from '@temporalio/workflow';
import type { OutageDetails } from '../types/outage-types.ts';

/**
 * What an activity's failure says of a model server that is away; undefined for every other failure.
 * Activities of workers before model-outages.ts name no server. Their failure is an outage if the server ended
 * it at its first attempt, as it does for this version's workflows; where it was retried, it is final.
 */
export function outageOf(error: unknown): { type: string; details: OutageDetails } | undefined {
  if (!(error instanceof ActivityFailure) || !(error.cause instanceof ApplicationFailure)) return undefined;
  const { type, details, message } = error.cause;
  if (type !== 'ModelUnavailable' && type !== 'ModelNotServed') return undefined;
  const outage = details?.[0] as OutageDetails | undefined;
  if (outage) return { type, details: outage };
  if (error.retryState !== 'NON_RETRYABLE_FAILURE') return undefined;
  return { type, details: { server: 'the model server', reason: message.slice(0, 200), progressed: false } };
}
