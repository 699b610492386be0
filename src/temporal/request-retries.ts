/** How long a command repeats a request to a Temporal server that cannot serve it yet. */
import { defaultGrpcRetryOptions, makeGrpcRetryInterceptor } from '@temporalio/client';

/**
 * A server that starts answers "Not enough hosts to serve the request" until its services have found each
 * other. On a busy machine that takes longer than the 20 s of the client's default of 10 attempts; 15 attempts
 * are 45 s.
 */
export const requestRetries = defaultGrpcRetryOptions({ maxAttempts: 15 });

/** For the connection of a command. */
export const repeatRequests = makeGrpcRetryInterceptor(requestRetries);
