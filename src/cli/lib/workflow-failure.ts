import type { WorkflowFailedError } from '@temporalio/client';
import { ApplicationFailure, CancelledFailure, TerminatedFailure } from '@temporalio/common';
import { CliError, exitCodes } from '../context.ts';

/** The failure of a workflow as a person needs it: its root cause, once, and what to do. */
export function explainFailure(error: WorkflowFailedError, id: string): CliError {
  const causes = [...causesOf(error)];
  const stopped = (how: string): CliError =>
    new CliError(`${id} was ${how}; the same command resumes it`, exitCodes.stopped);
  if (causes.some((cause) => cause instanceof CancelledFailure)) return stopped('cancelled');
  if (causes.some((cause) => cause instanceof TerminatedFailure)) return stopped('terminated');
  const root = causes.at(-1) ?? error;
  const type = causes.find((cause) => cause instanceof ApplicationFailure)?.type;
  if (type === 'InvalidConfig') return new CliError(root.message, exitCodes.badInput);
  const name = type ? `${type}: ` : '';
  return new CliError(
    `${id} failed: ${name}${root.message}\n` +
      'The log is in stack/logs/worker.log of the home folder; ' +
      'once the cause is gone, the same command resumes from the last epoch.',
  );
}

/** The causes of an error, its own first, the root last. */
export function* causesOf(error: Error): Generator<Error> {
  for (let cause = error.cause; cause instanceof Error; cause = cause.cause) yield cause;
}
