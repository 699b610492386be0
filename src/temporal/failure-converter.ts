import { DefaultFailureConverter } from '@temporalio/common';
import type { FailureConverter } from '@temporalio/common';

type Failure = ReturnType<FailureConverter['errorToFailure']>;

/**
 * Puts messages and stack traces of failures into payloads, which a codec encrypts. Part of the bundle of the
 * workflows, so it imports nothing of Node.
 */
class EncodedFailureConverter extends DefaultFailureConverter {
  constructor() {
    super({ encodeCommonAttributes: true });
  }

  /** An error that is thrown on has its failure attached, which the default converter would overwrite. */
  override errorToFailureInner(...call: Parameters<DefaultFailureConverter['errorToFailureInner']>): Failure {
    return { ...super.errorToFailureInner(...call) };
  }
}

/** Temporal looks for this name. */
export const failureConverter = new EncodedFailureConverter();
