import type { Context } from '@temporalio/activity';
import { ApplicationFailure, ApplicationFailureCategory, CancelledFailure } from '@temporalio/common';
import type { ActivityInboundCallsInterceptor } from '@temporalio/worker';
import type { Dependencies } from '../activities/dependencies.ts';
import { ModelUnavailable } from '../inference/policy-client.ts';
import type { WorkerStopped } from '../types/activity-types.ts';
import { abandonIfStalled, isWorkerStopping } from './activity-context.ts';

const workerStopped: WorkerStopped = 'WorkerStopped';

/** Errors that a retry would meet again: they fail the epoch at once. All others are retried. */
const nonRetryable = new Set([
  'InvalidConfig',
  'InvalidArtifact',
  'ColdStartFailed',
  'RequestRefused',
  'LedgerConflict',
  'NotSerializable',
]);

/** The failure that Temporal gets: the error's name as type, whether to retry, and after what delay. */
export function toFailure(error: unknown): unknown {
  if (
    !(error instanceof Error) ||
    error instanceof ApplicationFailure ||
    error instanceof CancelledFailure ||
    error.name === 'AbortError' ||
    error.name === 'CancelledFailure'
  )
    return error;
  return ApplicationFailure.create({
    message: error.message,
    type: error.name,
    nonRetryable: nonRetryable.has(error.name),
    cause: error,
    ...(error instanceof ModelUnavailable && error.retryAfterMs !== undefined
      ? { nextRetryDelay: error.retryAfterMs }
      : {}),
  });
}

/**
 * The failure of an activity that its stopping worker interrupted. Not retryable: a retry by the server would
 * use up one of the phase's attempts, so the workflow schedules the activity again
 * (src/workflows/activity-proxies.ts).
 */
export const toWorkerStopped = (activity: string): ApplicationFailure =>
  ApplicationFailure.create({
    message: `the worker of ${activity} was told to stop; another worker continues with it`,
    type: workerStopped,
    nonRetryable: true,
    category: ApplicationFailureCategory.BENIGN,
  });

/**
 * Converts errors to failures, and records in the run's events each retry and each attempt that its stopping
 * worker interrupted.
 */
export const activityInterceptor =
  (dependencies: Dependencies, stopping: AbortSignal) =>
  (context: Context): { inbound: ActivityInboundCallsInterceptor } => ({
    inbound: {
      async execute(input, next) {
        const { activityType: phase, attempt, workflowExecution } = context.info;
        const id = (input.args[0] as { run?: { id?: string } } | undefined)?.run?.id;
        const recordEvent = async (type: string): Promise<void> => {
          if (id === undefined) return;
          const workflow = workflowExecution?.workflowId ?? '';
          await dependencies.runFolder(id).appendEvent({ type, phase, attempt, workflow });
        };
        try {
          // A task that was polled while the worker stops is left to another worker.
          stopping.throwIfAborted();
          if (attempt > 1) await recordEvent('attempt');
          return await abandonIfStalled(context, () => next(input));
        } catch (error) {
          if (!isWorkerStopping(context, stopping)) throw toFailure(error);
          await recordEvent('worker-stopped').catch(() => undefined);
          throw toWorkerStopped(phase);
        }
      },
    },
  });
