import type { Context } from '@temporalio/activity';
import { ApplicationFailure, ApplicationFailureCategory, CancelledFailure } from '@temporalio/common';
import type { ActivityInboundCallsInterceptor } from '@temporalio/worker';
import type { Dependencies } from '../activities/dependencies.ts';
import { ModelUnavailable } from '../inference/policy-client.ts';
import type { WorkerStopped } from '../types/activity-types.ts';
import { abandonIfStalled, workerStops } from './activity-context.ts';

const workerStopped: WorkerStopped = 'WorkerStopped';

/** Errors that the same call would meet again: they fail the epoch at once. All others are tried again. */
const final = new Set([
  'InvalidConfig',
  'InvalidArtifact',
  'RequestRefused',
  'LedgerConflict',
  'NotSerializable',
]);

/** What an activity reports to Temporal: the error's name as type, and whether to try again, and when. */
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
    nonRetryable: final.has(error.name),
    cause: error,
    ...(error instanceof ModelUnavailable && error.retryAfterMs !== undefined
      ? { nextRetryDelay: error.retryAfterMs }
      : {}),
  });
}

/**
 * What an activity reports that its stopping worker interrupted, whatever it threw. Not retryable: a retry by
 * the server would use up one of the phase's attempts, so the workflow schedules the activity again
 * (src/workflows/activity-proxies.ts).
 */
export const toWorkerStopped = (activity: string): ApplicationFailure =>
  ApplicationFailure.create({
    message: `the worker of ${activity} was told to stop; another goes on with it`,
    type: workerStopped,
    nonRetryable: true,
    category: ApplicationFailureCategory.BENIGN,
  });

/**
 * Gives errors their type and retry rule, and notes in the run's events each further attempt, and each that
 * its stopping worker interrupted.
 */
export const activityInterceptor =
  (dependencies: Dependencies, stopping: AbortSignal) =>
  (context: Context): { inbound: ActivityInboundCallsInterceptor } => ({
    inbound: {
      async execute(input, next) {
        const { activityType: phase, attempt, workflowExecution } = context.info;
        const id = (input.args[0] as { run?: { id?: string } } | undefined)?.run?.id;
        const note = async (type: string): Promise<void> => {
          if (id !== undefined)
            await dependencies
              .runFolder(id)
              .appendEvent({ type, phase, attempt, workflow: workflowExecution?.workflowId ?? '' });
        };
        try {
          // What the queue gave out as the worker stopped is for another to begin.
          stopping.throwIfAborted();
          if (attempt > 1) await note('attempt');
          return await abandonIfStalled(context, () => next(input));
        } catch (error) {
          if (!workerStops(context, stopping)) throw toFailure(error);
          await note('worker-stopped').catch(() => undefined);
          throw toWorkerStopped(phase);
        }
      },
    },
  });
