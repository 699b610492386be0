/**
 * How errors become the failures that Temporal keeps, in activities and in workflows. Part of the bundle of the
 * workflows, so it imports nothing of Node.
 */
import { DefaultFailureConverter, TemporalFailure } from '@temporalio/common';
import { plainText } from '../formats/plain-text.ts';

type Conversion = DefaultFailureConverter['errorToFailureInner'];
type Failure = ReturnType<Conversion>;

/**
 * Keeps an error's type, details and causes as Temporal's own converter does, with a message of at most 2,000
 * characters without control characters, without stacks (which hold paths of the machine) and without causes
 * that are no failures of Temporal. What a server answers is in several of them, and a failure of more than
 * gRPC's 4 MB could not be reported at all: the activity would be retried as if its worker had died. Stacks and
 * causes are in the worker's log.
 */
export class PlainFailureConverter extends DefaultFailureConverter {
  override errorToFailureInner(...[error, ...context]: Parameters<Conversion>): Failure {
    if (error instanceof Error && !(error instanceof TemporalFailure)) {
      const { message, cause } = error;
      return {
        source: 'TypeScriptSDK',
        message: plainText(message),
        stackTrace: '',
        ...(cause instanceof TemporalFailure && { cause: this.errorToFailure(cause, ...context) }),
      };
    }
    return toPlainFailure(super.errorToFailureInner(error, ...context));
  }
}

function toPlainFailure({ cause, ...failure }: Failure): Failure {
  return {
    ...failure,
    message: plainText(failure.message ?? ''),
    stackTrace: '',
    ...(cause && isTemporalFailure(cause) && { cause: toPlainFailure(cause) }),
  };
}

/** Every kind of failure but an error of the language has a field for what it knows. */
const isTemporalFailure = (failure: Failure): boolean =>
  Object.entries(failure).some(([field, value]) => field.endsWith('FailureInfo') && Boolean(value));

/** Temporal loads the module by its path, and takes this. */
export const failureConverter = new PlainFailureConverter();
