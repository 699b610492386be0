import { exactMatch, exactTextMatch } from '../../coevolution/exact-match.ts';
import type { Action } from '../../coevolution/exact-match.ts';
import { softSimilarity } from '../../coevolution/soft-similarity.ts';
import type { Verdict } from '../world.ts';
import { execute } from './execute.ts';
import type { ProgramLimits } from './execute.ts';
import { callsFailure } from '../written/failure.ts';
import type { FailureClass } from '../written/failure.ts';
import { soundJson } from '../written/sound-json.ts';
import type { LanguageTask } from './task-schema.ts';

const marker = 'Answer:';
/** Characters; a longer answer is none. */
const longestAnswer = 4000;

/** What a response says after its last line that begins with `Answer:`; undefined where none does. */
export function finalAnswer(response: string): string | undefined {
  const lines = response.split('\n');
  const last = lines.findLastIndex((line) => line.trimStart().startsWith(marker));
  if (last === -1) return undefined;
  const answer = lines.slice(last).join('\n').trimStart().slice(marker.length).trim();
  return answer === '' || answer.length > longestAnswer ? undefined : answer;
}

const open = '<tool_call>';
const close = '</tool_call>';

/**
 * The one tool call of a response: bare JSON, or `<tool_call>JSON</tool_call>` at its end, working before it allowed. Two calls are
 * none; so is what has other members than `name` and `arguments`.
 */
export function toolCall(response: string): Action | undefined {
  const json = soundJson(callText(response) ?? '');
  if ('reason' in json || typeof json.value !== 'object' || json.value === null) return undefined;
  const { name, arguments: given } = json.value as { name?: unknown; arguments?: unknown };
  const whole =
    Object.keys(json.value).length === 2 &&
    typeof name === 'string' &&
    typeof given === 'object' &&
    given !== null &&
    !Array.isArray(given);
  return whole ? (json.value as Action) : undefined;
}

function callText(response: string): string | undefined {
  const parts = response.trim().split(open);
  if (parts.length === 1) return parts[0];
  const text = parts[1]!;
  return parts.length === 2 && text.endsWith(close) && text.indexOf(close) === text.length - close.length
    ? text.slice(0, -close.length)
    : undefined;
}

/** The verdict on a response, which alone is looked at: exact for values, calls and short answers, token F1 for free text. */
export function scoreResponse(task: LanguageTask, response: string, limits: ProgramLimits): Verdict {
  const { evaluation, target_action } = task;
  if (evaluation.kind === 'call') {
    const call = toolCall(response);
    return {
      reward: call === undefined ? 0 : exactMatch(call, target_action as Action),
      wellFormed: call !== undefined,
    };
  }
  const answer = finalAnswer(response);
  if (answer === undefined) return { reward: 0, wellFormed: false };
  switch (evaluation.kind) {
    case 'execution':
      return {
        reward: answer === String(execute(evaluation.program, evaluation.table, limits)) ? 1 : 0,
        wellFormed: true,
      };
    case 'exact':
      return {
        reward: evaluation.answers.some((accepted) => exactTextMatch(answer, accepted)) ? 1 : 0,
        wellFormed: true,
      };
    case 'reference':
      return { reward: softSimilarity(answer, evaluation.answer), wellFormed: true };
  }
}

/** Class of a response that is not right. */
export function failureOf({ evaluation, target_action }: LanguageTask, response: string): FailureClass {
  if (evaluation.kind !== 'call') return finalAnswer(response) === undefined ? 'no parse' : 'wrong answer';
  const call = toolCall(response);
  return callsFailure([target_action!], call === undefined ? undefined : [call as { name: string }]);
}

/** A response that is right. */
export function rightResponse({ evaluation, target_action }: LanguageTask, limits: ProgramLimits): string {
  switch (evaluation.kind) {
    case 'execution':
      return `${marker} ${execute(evaluation.program, evaluation.table, limits)}`;
    case 'call':
      return `${open}${JSON.stringify(target_action)}${close}`;
    case 'exact':
      return `${marker} ${evaluation.answers[0]!}`;
    case 'reference':
      return `${marker} ${evaluation.answer}`;
  }
}
