/**
 * Id of the evaluation of a run's agent after an epoch, by the epoch's ledger line: an epoch that is made
 * anew after a rewind has another.
 */
export const evaluationOfEpoch = (run: string, epoch: number, line: string): string =>
  `${run}.epoch-${String(epoch).padStart(4, '0')}-${line.slice(0, 8)}`;

/** The longest id of a run whose evaluations have ids of their own: those have 68 characters at most. */
export const longestEvaluatedId = 46;

/** Whether the agent is evaluated on benchmarks after this epoch: after every so many, and after the last. */
export const isEvaluated = (epoch: number, { every }: { every: number }, epochs: number): boolean =>
  epoch > 0 && (epoch % every === 0 || epoch >= epochs);
