import { Context } from '@temporalio/activity';
import type { ActivityContext } from '../runtime/activity-context.ts';

/** @param stopping aborted as soon as the worker is asked to stop */
export function createActivityContext(stopping: AbortSignal): ActivityContext {
  const context = Context.current();
  return {
    signal: AbortSignal.any([context.cancellationSignal, stopping]),
    heartbeat: (details) => {
      stateOf(context).details = details;
      recordHeartbeat(context);
      context.heartbeat(details);
    },
    onHeartbeat: (listener) => void stateOf(context).listeners.push(listener),
    isWorkerStopping: () => isWorkerStopping(context, stopping),
    isSuperseded: () => isSuperseded(context),
    stalled: stateOf(context).stall.signal,
  };
}

/** Whether the worker stops, and the activity itself was not asked to end. */
export function isWorkerStopping({ cancellationDetails }: Context, stopping: AbortSignal): boolean {
  if (cancellationDetails?.cancelRequested || cancellationDetails?.paused || cancellationDetails?.reset)
    return false;
  return stopping.aborted || (cancellationDetails?.workerShutdown ?? false);
}

/**
 * Whether the server no longer knows the attempt, or has timed it out, and did not ask it to end. That a
 * workflow was terminated looks the same.
 */
const isSuperseded = ({ cancellationDetails: details }: Context): boolean =>
  details !== undefined &&
  (details.notFound || details.timedOut) &&
  !(details.cancelRequested || details.paused || details.reset);

const requestHeartbeatMs = 1_000;

/**
 * Sends a request to a server, and heartbeats while it is under way: Temporal tells an attempt that it is
 * cancelled only in answer to a heartbeat, and a request may take ten minutes. The attempt lets go of the
 * request as soon as it is cancelled or its worker stops. After `limitMs`, the request's own limit, nothing
 * heartbeats any more: a request that outlasts that is a stall.
 */
export async function heartbeatDuringRequest<Result>(
  stopping: AbortSignal,
  limitMs: number,
  request: () => Promise<Result>,
): Promise<Result> {
  const context = Context.current();
  const signal = AbortSignal.any([context.cancellationSignal, stopping]);
  signal.throwIfAborted();
  const began = Date.now();
  const timer = setInterval(() => {
    const elapsed = Date.now() - began;
    if (elapsed > limitMs) {
      clearInterval(timer);
      return;
    }
    const { details } = stateOf(context);
    recordHeartbeat(context);
    context.heartbeat({ ...(details as object | undefined), request_seconds: Math.round(elapsed / 1000) });
  }, requestHeartbeatMs);
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const letGo = (): void => reject(signal.reason as Error);
  signal.addEventListener('abort', letGo, { once: true });
  try {
    return await Promise.race([request(), aborted]);
  } finally {
    clearInterval(timer);
    signal.removeEventListener('abort', letGo);
  }
}

/** An attempt did not heartbeat for so long that the server has started another. */
export class ActivityStalled extends Error {
  override readonly name = 'AttemptStuck';
}

/**
 * What this worker knows of an attempt that runs; `createActivityContext` may be called for it many times.
 */
interface AttemptState {
  /** Those of the last heartbeat. */
  details: unknown;
  lastHeartbeatAt: number;
  listeners: (() => void)[];
  stall: AbortController;
}

const states = new WeakMap<Context, AttemptState>();

function stateOf(context: Context): AttemptState {
  const state = states.get(context) ?? {
    details: undefined,
    lastHeartbeatAt: Date.now(),
    listeners: [],
    stall: new AbortController(),
  };
  states.set(context, state);
  return state;
}

function recordHeartbeat(context: Context): void {
  const state = stateOf(context);
  state.lastHeartbeatAt = Date.now();
  for (const listener of state.listeners) listener();
}

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
  const state = stateOf(context);
  recordHeartbeat(context);
  const check = setInterval(() => {
    const silence = Date.now() - state.lastHeartbeatAt;
    if (silence <= heartbeatTimeoutMs) return;
    const error = new ActivityStalled(
      `${activityType} made no progress for ${Math.round(silence / 1000)} s; the worker abandons this attempt`,
    );
    state.stall.abort(error);
    if (silence > limit) reject(error);
  }, heartbeatTimeoutMs / 2);
  try {
    return await Promise.race([work(), stalled]);
  } finally {
    clearInterval(check);
  }
}
