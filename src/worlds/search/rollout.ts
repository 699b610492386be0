import type { Fact } from './corpus.ts';
import type { SearchAction } from './form.ts';
import type { PassageIndex } from './passage-index.ts';

/** A rollout so far: what each action returned, and the answer once one is given. */
export interface PlayedSearch {
  /** Undefined for an action that is none. */
  results: (readonly Fact[] | undefined)[];
  answer: string | undefined;
  /** Answered, or out of turns. */
  over: boolean;
}

/** Plays actions from the beginning, up to the answer or the limit of turns; undefined = no action. */
export function playSearch(
  index: PassageIndex,
  actions: readonly (SearchAction | undefined)[],
  { turns, results: limit }: { turns: number; results: number },
): PlayedSearch {
  const results: (readonly Fact[] | undefined)[] = [];
  for (const action of actions.slice(0, turns)) {
    if (action?.kind === 'answer')
      return { results: [...results, []], answer: action.text.toLowerCase(), over: true };
    results.push(action === undefined ? undefined : index.search(action.query, limit));
  }
  return { results, answer: undefined, over: results.length >= turns };
}
