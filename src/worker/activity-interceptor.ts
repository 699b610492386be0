import type { Context } from '@temporalio/activity';
import { ApplicationFailure, ApplicationFailureCategory, CancelledFailure } from '@temporalio/common';
import type { ActivityInboundCallsInterceptor } from '@temporalio/worker';
import type { Dependencies } from '../activities/dependencies.ts';
import { inputSchemas } from '../activities/input-schemas.ts';
import { epochWorkflowId } from '../formats/epoch-id.ts';
import { shortReason } from '../inference/outage-reason.ts';
import { ModelUnavailable, ServerProblem } from '../inference/policy-client.ts';
import type { RunEvent } from '../runs/file-schemas.ts';
import type { WorkerStopped } from '../types/activity-types.ts';
import type { OutageDetails } from '../types/outage-types.ts';
import { StoreUnavailable } from '../store/errors.ts';
import { checkArguments, InvalidInput } from '../validation/checked-input.ts';
import { abandonIfStalled, isWorkerStopping } from './activity-context.ts';
import { FailedAttempts } from './failed-attempts.ts';
import { OutageLog } from './outage-log.ts';

const workerStopped: WorkerStopped = 'WorkerStopped';

/** Errors that a retry would meet again: they fail the epoch at once. All others are retried. */
const nonRetryable = new Set([
  'InvalidConfig',
  'InvalidInput',
  'InvalidArtifact',
  'ColdStartFailed',
  'RequestRefused',
  'WrongWeights',
  'LedgerConflict',
  'NotSerializable',
]);

/** The failure that Temporal gets: the error's name as type, whether to retry, and what is away. */
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
    ...((error instanceof ServerProblem || error instanceof StoreUnavailable) && {
      details: [outageDetails(error)],
    }),
  });
}

/**
 * What the workflow needs to know of a server or store that it waits for. A full disk and a bucket that is away are one
 * outage, wherever they were met, for all that wait for the store.
 */
function outageDetails(error: ServerProblem | StoreUnavailable): OutageDetails {
  if (error instanceof StoreUnavailable)
    return { server: 'the store', reason: shortReason(error.message), progressed: false };
  const { server = 'the model server', progressed } = error;
  const reason = shortReason(error.reason);
  const retryAfterMs = error instanceof ModelUnavailable ? error.retryAfterMs : undefined;
  return { server, reason, progressed, ...(retryAfterMs !== undefined && { retryAfterMs }) };
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
 * Nothing that the namespace holds reaches an activity unchecked, not even one that is new.
 * @throws InvalidInput
 */
export function checkInput(activityType: string, args: readonly unknown[]): void {
  if (!Object.hasOwn(inputSchemas, activityType))
    throw new InvalidInput(`activity ${activityType}: there is no schema for its input`);
  checkArguments(`activity ${activityType}`, [inputSchemas[activityType as keyof typeof inputSchemas]], args);
}

/** Ids of the workflows that may ask for an activity that writes the files of a run. */
const owners = {
  parseExperiment: (input: { id: string }) => [input.id],
  openEpoch: (input: { id: string }) => [input.id],
  retuneExperiment: (input: { id: string }) => [input.id],
  recordEnd: (input: { id: string }) => [input.id],
  commitEpoch: ({ run, epoch }: { run: { id: string }; epoch: number }) => [
    run.id,
    epochWorkflowId(run.id, epoch),
  ],
} as const;

/**
 * A run's id is the id of its workflow, and each of its epochs has a workflow of its own; resets and
 * continuations keep these ids. Whatever else asks for these activities is not that run.
 * @param workflow id of the workflow that asks; undefined if none does
 * @throws InvalidInput
 */
export function checkOwner(activityType: string, input: unknown, workflow: string | undefined): void {
  if (!Object.hasOwn(owners, activityType)) return;
  const allowed: readonly string[] = owners[activityType as keyof typeof owners](input as never);
  if (workflow !== undefined && allowed.includes(workflow)) return;
  throw new InvalidInput(
    `activity ${activityType}: only the workflow of the run, whose id is the run's, may ask for it`,
  );
}

/**
 * Checks inputs, converts errors to failures, and records in the run's events each retry, each attempt that
 * its stopping worker interrupted, and outages of model servers.
 */
export function activityInterceptor(
  dependencies: Dependencies,
  stopping: AbortSignal,
): (context: Context) => { inbound: ActivityInboundCallsInterceptor } {
  const outages = new OutageLog();
  const failures = new FailedAttempts();
  return (context) => ({
    inbound: {
      async execute(input, next) {
        const { activityType: phase, activityId, attempt, workflowExecution } = context.info;
        const activity = `${workflowExecution?.workflowId}/${workflowExecution?.runId}/${activityId}`;
        try {
          checkInput(phase, input.args);
          checkOwner(phase, input.args[0], workflowExecution?.workflowId);
        } catch (error) {
          throw toFailure(error);
        }
        const run = (input.args[0] as { run?: { id?: string } } | undefined)?.run?.id;
        const recordEvent = async (event: RunEvent | undefined): Promise<void> => {
          if (run === undefined || event === undefined) return;
          const workflow = workflowExecution?.workflowId ?? '';
          await dependencies.runFolder(run).appendEvent({ ...event, workflow });
        };
        try {
          // A task that was polled while the worker stops is left to another worker.
          stopping.throwIfAborted();
          if (attempt > 1)
            await recordEvent({
              type: 'attempt',
              phase,
              attempt,
              reason: failures.reasonFor(activity, attempt),
            });
          const result = await abandonIfStalled(context, () => next(input));
          if (run !== undefined) await recordEvent(outages.succeeded({ run, phase })).catch(() => undefined);
          return result;
        } catch (error) {
          if (isWorkerStopping(context, stopping)) {
            await recordEvent({ type: 'worker-stopped', phase, attempt }).catch(() => undefined);
            throw toWorkerStopped(phase);
          }
          failures.record(activity, attempt, error);
          if (run !== undefined && error instanceof ServerProblem)
            await recordEvent(outages.tryFailed({ run, phase }, outageDetails(error))).catch(() => undefined);
          throw toFailure(error);
        }
      },
    },
  });
}
