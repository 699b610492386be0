import type { Message, Question } from '../formats/chat-messages.ts';
import { cutText } from '../formats/plain-text.ts';
import { isObject } from '../validation/json-schema.ts';

/** Characters of an answer, or of the last message of a question, in `cases.jsonl`; the store has them whole. */
export const MAX_ANSWER_TEXT = 2000;
/** Characters of the messages before it, which are alike in many cases. */
const MAX_SETTING_TEXT = 1000;

/**
 * What a policy wrote, for people to read, from the response that a suite keeps: its texts and calls in their
 * order, by lines; the response as JSON if it has neither.
 */
export function answerText(response: unknown): string {
  const text = (linesOf(response) ?? [JSON.stringify(response)]).join('\n');
  return text.length <= MAX_ANSWER_TEXT
    ? text
    : `${cutText(text, MAX_ANSWER_TEXT)}… (${text.length - MAX_ANSWER_TEXT} characters more)`;
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

/**
 * What a policy was asked, for people to read: its messages by role, with the names of its tools. Of a long message
 * the beginning and more of the end are kept, since a request stands at the end of what it is about.
 */
export function questionText({ messages, tools = [] }: Question): string {
  const setting = messages.slice(0, -1).map(messageText).join('\n\n');
  return [
    cutMiddle(setting, MAX_SETTING_TEXT),
    ...messages.slice(-1).map((last) => cutMiddle(messageText(last), MAX_ANSWER_TEXT)),
    tools.length === 0
      ? ''
      : cutMiddle(`tools: ${tools.map(({ name }) => name).join(', ')}`, MAX_SETTING_TEXT),
  ]
    .filter((part) => part !== '')
    .join('\n\n');
}

const messageText = (message: Message): string => {
  const calls = message.role === 'assistant' ? (message.toolCalls ?? []) : [];
  const text = [message.content, ...calls.map((call) => `${call.name} ${call.arguments}`)];
  return `${message.role}: ${text.filter((line) => line !== '').join('\n')}`;
};

function cutMiddle(text: string, limit: number): string {
  if (text.length <= limit) return text;
  const head = cutText(text, limit / 4);
  const tail = text.slice(text.length - (3 * limit) / 4).toWellFormed();
  return `${head}… (${text.length - limit} characters more) …${tail}`;
}
