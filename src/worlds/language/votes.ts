import { exactMatch, exactTextMatch } from '../../coevolution/exact-match.ts';
import { softSimilarity } from '../../coevolution/soft-similarity.ts';
import type { LabelVote } from '../world.ts';
import { finalAnswer, scoreResponse, toolCall } from './answers.ts';
import type { LanguageSettings } from './settings.ts';
import { taskOf } from './task.ts';
import type { LanguageTask } from './task-schema.ts';

/** Votes on the labels that the simulator wrote itself: those of all tasks but the executed ones. */
export function labelVote(settings: LanguageSettings): LabelVote | undefined {
  if (settings.vote === null) return undefined;
  return {
    ...settings.vote,
    needed: (spec) => taskOf(spec).evaluation.kind !== 'execution',
    tally: (spec, responses) => {
      const task = taskOf(spec);
      const agrees = (response: string): boolean =>
        scoreResponse(task, response, settings).reward >= settings.similarAt;
      const others = responses.filter((response) => !agrees(response));
      const together = (response: string): number =>
        others.filter((other) => sameAnswer(task, response, other, settings.similarAt)).length;
      return {
        agreeing: responses.length - others.length,
        disputed: others.some((response) => together(response) > responses.length / 2),
      };
    },
  };
}

/** Whether two responses give the same answer; two without one do not. */
function sameAnswer(
  { evaluation: { kind } }: LanguageTask,
  left: string,
  right: string,
  similarAt: number,
): boolean {
  if (kind === 'call') {
    const [one, other] = [toolCall(left), toolCall(right)];
    return one !== undefined && other !== undefined && exactMatch(one, other) === 1;
  }
  const [one, other] = [finalAnswer(left), finalAnswer(right)];
  if (one === undefined || other === undefined) return false;
  return kind === 'reference' ? softSimilarity(one, other) >= similarAt : exactTextMatch(one, other) === 1;
}
