import {
  isGrpcDeadlineError,
  isGrpcServiceError,
  WorkflowNotFoundError,
  WorkflowUpdateFailedError,
  WorkflowUpdateRPCTimeoutOrCancelledError,
} from '@temporalio/client';
import { ApplicationFailure } from '@temporalio/common';
import { CliError, exitCodes } from '../exit-codes.ts';
import type { FoundWorkflow } from './look-up.ts';

/** An update that was answered with a refusal; `type` is that of its failure. */
export class Refused extends CliError {
  readonly type: string | undefined;

  constructor(id: string, { message, type }: { message: string; type?: string | null | undefined }) {
    super(`${id}: ${message}`, type === 'InvalidConfig' ? exitCodes.badInput : exitCodes.failed);
    this.type = type ?? undefined;
  }
}

const ANSWER_SECONDS = 30;

/**
 * Sends an update to a running experiment, and gives its answer.
 * @throws Refused with the reason, CliError that says what to look at where nothing answers
 */
export async function sendUpdate<Answer>(
  { client, handle }: Pick<FoundWorkflow, 'client' | 'handle'>,
  update: string,
  ...args: unknown[]
): Promise<Answer> {
  try {
    return await client.withDeadline(Date.now() + ANSWER_SECONDS * 1000, () =>
      handle.executeUpdate<Answer, []>(update, { args: args as [] }),
    );
  } catch (error) {
    throw explained(error, handle.workflowId);
  }
}

function explained(error: unknown, id: string): unknown {
  if (error instanceof WorkflowUpdateFailedError) return refusal(error, id);
  if (error instanceof WorkflowNotFoundError)
    return new CliError(`${id} has just ended; \`npx genenv status ${id}\` says how`);
  if (
    error instanceof WorkflowUpdateRPCTimeoutOrCancelledError ||
    (error instanceof Error && isGrpcDeadlineError(error))
  ) {
    return new CliError(
      `${id} has not answered within ${ANSWER_SECONDS} s: no worker serves it, or it is busy; \`npx genenv doctor\` says what runs. Ask again then.`,
    );
  }
  return error instanceof Error && isGrpcServiceError(error)
    ? new CliError(`Temporal has gone away: ${error.message}; once it is back, ask again`)
    : error;
}

function refusal(error: WorkflowUpdateFailedError, id: string): Refused {
  return new Refused(
    id,
    [...causes(error)].findLast((cause) => cause instanceof ApplicationFailure) ?? error,
  );
}

function* causes(error: Error): Generator<Error> {
  for (let at = error.cause; at instanceof Error; at = at.cause) yield at;
}
