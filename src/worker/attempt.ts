import { Context } from '@temporalio/activity';
import type { Attempt } from '../activities/ports.ts';

/** The attempt that Temporal's activity context describes. */
export function temporalAttempt(): Attempt {
  const context = Context.current();
  return {
    signal: context.cancellationSignal,
    heartbeat: (details) => context.heartbeat(details),
    workerStops: () => context.cancellationDetails?.workerShutdown ?? false,
  };
}
