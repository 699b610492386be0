import { exactMatch, exactTextMatch, softSimilarity } from '../../coevolution/answer-rewards.ts';
import { tallyVotes } from '../json-tasks/tally-votes.ts';
import type { LabelVote } from '../world.ts';
import { finalAnswer, scoreResponse, toolCall } from './answers.ts';
import type { LanguageSettings } from './settings.ts';
import type { LanguageTask } from './task-schema.ts';
import { languageTask } from './task.ts';

/**
 * Votes on the labels that the simulator wrote: those of all tasks but the executed ones. They are compared by
 * token F1, whatever rewards answers: a label is confirmed in its own words.
 */
export function labelVote(settings: LanguageSettings): LabelVote | undefined {
  if (settings.vote === null) return undefined;
  const { votes, agreement } = settings.vote;
  return {
    votes,
    agreement,
    needed: (spec) => languageTask(spec).evaluation.kind !== 'execution',
    tally: (spec, responses) => {
      const task = languageTask(spec);
      return tallyVotes(
        responses,
        (response) => scoreResponse(task, response, settings).reward >= settings.similarAt,
        (left, right) => sameAnswer(task, left, right, settings.similarAt),
      );
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
    const [leftCall, rightCall] = [toolCall(left), toolCall(right)];
    return leftCall !== undefined && rightCall !== undefined && exactMatch(leftCall, rightCall) === 1;
  }
  const [leftAnswer, rightAnswer] = [finalAnswer(left), finalAnswer(right)];
  if (leftAnswer === undefined || rightAnswer === undefined) return false;
  return kind === 'reference'
    ? softSimilarity(leftAnswer, rightAnswer) >= similarAt
    : exactTextMatch(leftAnswer, rightAnswer) === 1;
}
