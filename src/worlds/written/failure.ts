/** What is wrong with an answer, for the simulator's history. */
export type FailureClass = 'no parse' | 'wrong tool' | 'wrong argument' | 'wrong answer';

type Named = { name: string };

/** Class of calls that are not those asked for: other tools than these, in whatever order, or these with something else given to them. */
export function callsFailure(asked: readonly Named[], made: readonly Named[] | undefined): FailureClass {
  if (made === undefined) return 'no parse';
  const names = (calls: readonly Named[]): string => JSON.stringify(calls.map(({ name }) => name).sort());
  return names(made) === names(asked) ? 'wrong argument' : 'wrong tool';
}
