/** What is wrong with an answer, for the simulator's history. */
export type FailureClass = 'no parse' | 'wrong tool' | 'wrong argument' | 'wrong answer';

type Named = { name: string };

/**
 * Failure class of calls that differ from the expected ones: other tools (in any order), or other arguments.
 */
export function classifyCallsFailure(
  expected: readonly Named[],
  made: readonly Named[] | undefined,
): FailureClass {
  if (made === undefined) return 'no parse';
  const names = (calls: readonly Named[]): string => JSON.stringify(calls.map(({ name }) => name).sort());
  return names(made) === names(expected) ? 'wrong argument' : 'wrong tool';
}
