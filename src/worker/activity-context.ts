import { Context } from '@temporalio/activity';
import type { ActivityContext } from '../runtime/activity-context.ts';

/** @param stopping aborted as soon as the worker is asked to stop */
export function createActivityContext(stopping: AbortSignal): ActivityContext {
  const context = Context.current();
  return {
    signal: AbortSignal.any([context.cancellationSignal, stopping]),
    heartbeat: (details) => {
      recordHeartbeat(context);
      context.heartbeat(details);
    },
    onBeat: (listener) => onHeartbeat(context, listener),
    workerStops: () => workerStops(context, stopping),
  };
}

/** Whether the worker stops, and the activity itself was not asked to end. */
export function workerStops({ cancellationDetails }: Context, stopping: AbortSignal): boolean {
  if (cancellationDetails?.cancelRequested || cancellationDetails?.paused || cancellationDetails?.reset)
    return false;
  return stopping.aborted || (cancellationDetails?.workerShutdown ?? false);
}

/** An attempt did not heartbeat for so long that the server has started another. */
export class ActivityStalled extends Error {
  override readonly name = 'AttemptStuck';
}

const lastHeartbeatAt = new WeakMap<Context, number>();
const listeners = new WeakMap<Context, (() => void)[]>();

function recordHeartbeat(context: Context): void {
  lastHeartbeatAt.set(context, Date.now());
  for (const listener of listeners.get(context) ?? []) listener();
}

/** Calls the listener at each heartbeat of an attempt. */
const onHeartbeat = (context: Context, listener: () => void): void =>
  void listeners.set(context, [...(listeners.get(context) ?? []), listener]);

/**
 * Runs an attempt, but abandons it when it has not heartbeated for twice its heartbeat timeout and 10 s. The
 * server gave it up long ago, and a promise that never settles (a read that hangs) would hold its slot in the
 * worker for ever; on the one slot of the device, nothing would ever run again. What an abandoned attempt may
 * still do is fenced off by the next attempt.
 * @throws ActivityStalled
 */
export async function abandonIfStalled<Result>(
  context: Context,
  work: () => Promise<Result>,
): Promise<Result> {
  const { heartbeatTimeoutMs, activityType } = context.info;
  if (!heartbeatTimeoutMs) return work();
  const limit = 2 * heartbeatTimeoutMs + 10_000;
  const { promise: stalled, reject } = Promise.withResolvers<never>();
  recordHeartbeat(context);
  const check = setInterval(() => {
    if (Date.now() - lastHeartbeatAt.get(context)! > limit)
      reject(
        new ActivityStalled(
          `${activityType} made no progress for ${limit / 1000} s; its attempt is let go of`,
        ),
      );
  }, heartbeatTimeoutMs / 2);
  try {
    return await Promise.race([work(), stalled]);
  } finally {
    clearInterval(check);
  }
}
