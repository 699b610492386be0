import type { WorkflowFailedError } from '@temporalio/client';
import { ApplicationFailure, CancelledFailure, TerminatedFailure } from '@temporalio/common';
import { CliError, exitCodes } from '../exit-codes.ts';

/** The failure of a workflow as a person needs it: its root cause, once, and what to do. */
export function explainFailure(error: WorkflowFailedError, id: string): CliError {
  const causes = [...chain(error)];
  if (causes.some((cause) => cause instanceof CancelledFailure))
    return new CliError(
      `${id} was cancelled; the same command goes on from its last epoch`,
      exitCodes.stopped,
    );
  if (causes.some((cause) => cause instanceof TerminatedFailure))
    return new CliError(
      `${id} was terminated; the same command goes on from its last epoch`,
      exitCodes.stopped,
    );
  const root = causes.at(-1) ?? error;
  const type = causes.find((cause) => cause instanceof ApplicationFailure)?.type;
  if (type === 'InvalidConfig') return new CliError(root.message, exitCodes.badInput);
  const name = type ? `${type}: ` : '';
  return new CliError(
    `${id} failed: ${name}${root.message}\nThe log is in stack/logs/worker.log of the home folder; once the cause is gone, the same command goes on from the last epoch.`,
  );
}

function* chain(error: Error): Generator<Error> {
  for (let at = error.cause; at instanceof Error; at = at.cause) yield at;
}
