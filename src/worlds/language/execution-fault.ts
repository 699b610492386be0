/** A program has no value: `reason` says why, as one word of the metrics. */
export class ExecutionFault extends Error {
  override readonly name = 'ExecutionFault';
  readonly reason:
    'unknown_tool' | 'wrong_arguments' | 'too_deep' | 'too_many_calls' | 'too_large' | 'no_answer';
  constructor(reason: ExecutionFault['reason']) {
    super(reason);
    this.reason = reason;
  }
}
