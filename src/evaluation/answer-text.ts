import { isObject } from '../validation/json-schema.ts';

/** Characters of an answer that a line of `cases.jsonl` shows; the store has the whole answer. */
export const MAX_ANSWER_TEXT = 2000;

/**
 * What a policy wrote, for people to read, from the response that a suite keeps: its texts and calls in their
 * order, by lines; the response as JSON if it has neither.
 */
export function answerText(response: unknown): string {
  const text = (linesOf(response) ?? [JSON.stringify(response)]).join('\n');
  return text.length <= MAX_ANSWER_TEXT
    ? text
    : `${text.slice(0, MAX_ANSWER_TEXT).toWellFormed()}… (${text.length - MAX_ANSWER_TEXT} characters more)`;
}

function linesOf(response: unknown): string[] | undefined {
  if (typeof response === 'string') return [response];
  if (Array.isArray(response)) return response.flatMap((part) => linesOf(part) ?? [JSON.stringify(part)]);
  if (!isObject(response)) return undefined;
  if (typeof response.name === 'string' && typeof response.arguments === 'string')
    return [`${response.name} ${response.arguments}`];
  const parts = answerFields.filter((field) => response[field] !== undefined);
  if (parts.length === 0) return undefined;
  const lines = parts.flatMap((field) => linesOf(response[field]) ?? [JSON.stringify(response[field])]);
  return lines.some((line) => line !== '') ? lines.filter((line) => line !== '') : [''];
}

/** Fields of responses that hold what the policy wrote (docs/benchmarks.md). */
const answerFields = ['text', 'answer', 'toolCalls', 'calls', 'turns', 'commands'] as const;
