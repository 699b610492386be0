import { exactMatch, exactTextMatch, softSimilarity } from '../../coevolution/answer-rewards.ts';
import type { Action } from '../../coevolution/answer-rewards.ts';
import type { RandomStream } from '../../numerics/random.ts';
import { classifyCallsFailure } from '../json-tasks/failure-class.ts';
import type { FailureClass } from '../json-tasks/failure-class.ts';
import { plainWords } from '../json-tasks/plain-words.ts';
import { parseUntrustedJson } from '../json-tasks/untrusted-json.ts';
import type { ComparedTexts, Verdict } from '../world.ts';
import { executedAnswer } from './execute.ts';
import type { ProgramLimits } from './execute.ts';
import type { LanguageTask, OwnTool } from './task-schema.ts';
import { library, weekdays } from './tools.ts';

const marker = 'Answer:';
/** Characters; a longer answer counts as no answer. */
const MAX_ANSWER_LENGTH = 4000;

/** The text after the last `Answer:` at the beginning of a line; undefined if there is none. */
export function finalAnswer(response: string): string | undefined {
  const lines = response.split('\n');
  const last = lines.findLastIndex((line) => line.trimStart().startsWith(marker));
  if (last === -1) return undefined;
  const answer = lines.slice(last).join('\n').trimStart().slice(marker.length).trim();
  return answer === '' || answer.length > MAX_ANSWER_LENGTH ? undefined : answer;
}

const open = '<tool_call>';
const close = '</tool_call>';

/**
 * The only tool call of a response: bare JSON, or `<tool_call>JSON</tool_call>` at its end, after any
 * reasoning. Undefined for two calls, and for other members than `name` and `arguments`.
 */
export function toolCall(response: string): Action | undefined {
  const json = parseUntrustedJson(callText(response) ?? '');
  if ('reason' in json || typeof json.value !== 'object' || json.value === null) return undefined;
  const { name, arguments: args } = json.value as { name?: unknown; arguments?: unknown };
  const isCall =
    Object.keys(json.value).length === 2 &&
    typeof name === 'string' &&
    typeof args === 'object' &&
    args !== null &&
    !Array.isArray(args);
  return isCall ? (json.value as Action) : undefined;
}

function callText(response: string): string | undefined {
  const parts = response.trim().split(open);
  if (parts.length === 1) return parts[0];
  const text = parts[1]!;
  return parts.length === 2 && text.endsWith(close) && text.indexOf(close) === text.length - close.length
    ? text.slice(0, -close.length)
    : undefined;
}

/**
 * The verdict on a response: exact match for values, calls and short answers, soft similarity for free text.
 * @param similarity of a free text and its reference by their embeddings; token F1 if absent
 */
export function scoreResponse(
  task: LanguageTask,
  response: string,
  limits: ProgramLimits,
  similarity?: number,
): Verdict {
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
        reward: answer === executedAnswer(evaluation, limits) ? 1 : 0,
        wellFormed: true,
      };
    case 'exact':
      return {
        reward: evaluation.answers.some((accepted) => exactTextMatch(answer, accepted)) ? 1 : 0,
        wellFormed: true,
      };
    case 'reference':
      return { reward: similarity ?? softSimilarity(answer, evaluation.answer), wellFormed: true };
  }
}

/** A free-form answer and its reference; undefined if the task is another, or there is no answer. */
export function comparedTexts({ evaluation }: LanguageTask, response: string): ComparedTexts | undefined {
  if (evaluation.kind !== 'reference') return undefined;
  const answer = finalAnswer(response);
  return answer === undefined ? undefined : { answer, reference: evaluation.answer };
}

/** The failure class of an incorrect response. */
export function classifyFailure({ evaluation, target_action }: LanguageTask, response: string): FailureClass {
  if (evaluation.kind !== 'call') return finalAnswer(response) === undefined ? 'no parse' : 'wrong answer';
  const call = toolCall(response);
  return classifyCallsFailure([target_action!], call === undefined ? undefined : [call as { name: string }]);
}

/** A correct response, in the form that the agent's prompt asks for; of several the first that is read as such. */
export function referenceResponse(task: LanguageTask, limits: ProgramLimits): string {
  const { evaluation, target_action } = task;
  switch (evaluation.kind) {
    case 'execution':
      return `${marker} ${executedAnswer(evaluation, limits)}`;
    case 'call':
      return `${open}${JSON.stringify(target_action)}${close}`;
    case 'exact': {
      const responses = evaluation.answers.map((answer) => `${marker} ${answer}`);
      return (
        responses.find((response) => scoreResponse(task, response, limits).reward === 1) ?? responses[0]!
      );
    }
    case 'reference':
      return `${marker} ${evaluation.answer}`;
  }
}

/**
 * A random response of the right shape. For free text it is drawn from the prompt's words: a task that these
 * solve is solved by copying.
 */
export function randomResponse({ prompt, tools, evaluation }: LanguageTask, random: RandomStream): string {
  const words = plainWords(prompt);
  const word = (): string => (words.length === 0 ? 'yes' : random.pick(words));
  const randomArgument = (type: string): string | boolean | number => {
    if (type === 'string') return word();
    return type === 'boolean' ? random.int(2) === 0 : random.int(10);
  };
  switch (evaluation.kind) {
    case 'execution':
      return `Answer: ${guessValue(evaluation, random)}`;
    case 'call': {
      const tool = random.pick(
        tools.filter((candidate): candidate is OwnTool => typeof candidate !== 'string'),
      );
      const args = Object.fromEntries(
        Object.entries(tool.parameters).map(([name, type]) => [name, randomArgument(type)]),
      );
      return `<tool_call>${JSON.stringify({ name: tool.name, arguments: args })}</tool_call>`;
    }
    case 'exact':
      return `Answer: ${word()}`;
    case 'reference':
      return `Answer: ${Array.from({ length: 1 + Math.min(20, Math.floor(evaluation.answer.length / 6)) }, word).join(' ')}`;
  }
}

/** A random value by the outermost tool alone: counts, weekdays and table cells have few values. */
function guessValue(
  { program, table }: Extract<LanguageTask['evaluation'], { kind: 'execution' }>,
  random: RandomStream,
): string {
  if (program.tool === 'count') return String(random.int(4));
  if (program.tool === 'weekday') return random.pick(weekdays);
  if (program.tool === 'lookup') return String(random.pick(table!.rows.flatMap(([, ...cells]) => cells)));
  const { result } = library.get(program.tool)!;
  if (result === 'date') return `20${10 + random.int(30)}-0${1 + random.int(9)}-${10 + random.int(19)}`;
  return result === 'integer'
    ? String(random.int(100))
    : Array.from({ length: 5 }, () => random.pick([...'abcde'])).join('');
}
