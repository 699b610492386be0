import { Context } from '@temporalio/activity';
import type { ActivityContext } from '../runtime/activity-context.ts';

/**
 * The attempt that Temporal's activity context describes. `stopping` is aborted at once when the worker is
 * told to stop.
 */
export function createActivityContext(stopping: AbortSignal): ActivityContext {
  const context = Context.current();
  return {
    signal: AbortSignal.any([context.cancellationSignal, stopping]),
    heartbeat: (details) => {
      lastHeartbeatAt(context);
      context.heartbeat(details);
    },
    onBeat: (listener) => onHeartbeat(context, listener),
    workerStops: () => workerStops(context, stopping),
  };
}

/** Whether the worker stops, and nobody wants the activity itself to end. */
export function workerStops({ cancellationDetails }: Context, stopping: AbortSignal): boolean {
  if (cancellationDetails?.cancelRequested || cancellationDetails?.paused || cancellationDetails?.reset)
    return false;
  return stopping.aborted || (cancellationDetails?.workerShutdown ?? false);
}

/** An attempt made no progress for so long that the server has given it up: another goes on. */
export class ActivityStalled extends Error {
  override readonly name = 'AttemptStuck';
}

const lastHeartbeats = new WeakMap<Context, number>();

const listeners = new WeakMap<Context, (() => void)[]>();

/** Notes progress of an attempt. */
export function lastHeartbeatAt(context: Context): void {
  lastHeartbeats.set(context, Date.now());
  for (const listener of listeners.get(context) ?? []) listener();
}

/** Calls back at each progress of an attempt. */
export const onHeartbeat = (context: Context, listener: () => void): void =>
  void listeners.set(context, [...(listeners.get(context) ?? []), listener]);

/**
 * Runs an attempt, but lets go of it once it has beaten nothing for twice its heartbeat timeout and 10 s: the
 * server gave it up long ago, and a promise that never settles (a read that the system forgot) would hold its
 * place in the worker for ever. Where there is one place, that of the device, nothing would ever run there
 * again. What the attempt may still do is fenced off by the one that follows it.
 * @throws AttemptStuck
 */
export async function abandonIfStalled<Result>(
  context: Context,
  work: () => Promise<Result>,
): Promise<Result> {
  const { heartbeatTimeoutMs, activityType } = context.info;
  if (!heartbeatTimeoutMs) return work();
  const limit = 2 * heartbeatTimeoutMs + 10_000;
  const { promise: stuck, reject } = Promise.withResolvers<never>();
  lastHeartbeatAt(context);
  const look = setInterval(() => {
    if (Date.now() - lastHeartbeats.get(context)! > limit)
      reject(
        new ActivityStalled(
          `${activityType} made no progress for ${limit / 1000} s; its attempt is let go of`,
        ),
      );
  }, heartbeatTimeoutMs / 2);
  try {
    return await Promise.race([work(), stuck]);
  } finally {
    clearInterval(look);
  }
}
