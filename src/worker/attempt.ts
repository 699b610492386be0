import { Context } from '@temporalio/activity';
import type { Attempt } from '../activities/ports.ts';
import { beaten, listen } from './stuck-attempts.ts';

/** The attempt that Temporal's activity context describes. `stopping` is aborted at once when the worker is told to stop. */
export function temporalAttempt(stopping: AbortSignal): Attempt {
  const context = Context.current();
  return {
    signal: AbortSignal.any([context.cancellationSignal, stopping]),
    heartbeat: (details) => {
      beaten(context);
      context.heartbeat(details);
    },
    onBeat: (listener) => listen(context, listener),
    workerStops: () => workerStops(context, stopping),
  };
}

/** Whether the worker stops, and nobody wants the activity itself to end. */
export function workerStops({ cancellationDetails }: Context, stopping: AbortSignal): boolean {
  if (cancellationDetails?.cancelRequested || cancellationDetails?.paused || cancellationDetails?.reset)
    return false;
  return stopping.aborted || (cancellationDetails?.workerShutdown ?? false);
}
