/** Codes of gRPC for a server that is away, or takes longer than it is waited for. */
const DEADLINE_EXCEEDED = 4;
const UNAVAILABLE = 14;

/** Whether a call has failed because no answer came; else the server has answered, and refused. */
export function isUnanswered(error: Error): boolean {
  const codes = [error, error.cause].map((failure) => (failure as { code?: unknown } | undefined)?.code);
  return codes.some((code) => code === UNAVAILABLE || code === DEADLINE_EXCEEDED);
}

/** What became of a call of a Temporal client that has failed, in a line. */
export function serverFailureText(error: Error): string {
  const cause = error.cause instanceof Error ? `: ${error.cause.message}` : '';
  return `Temporal ${isUnanswered(error) ? 'has not answered' : 'refused'}: ${error.message}${cause}`;
}
