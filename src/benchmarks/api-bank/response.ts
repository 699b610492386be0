import type { Answer, SuiteSettings } from '../suite.ts';

/** What is judged: the answer's text, or the calls that the server parsed, their arguments as the model wrote them. */
export type CallResponse = { text: string } | { calls: readonly { name: string; arguments: string }[] };

export function responseOf({ text, toolCalls }: Answer, format: SuiteSettings['toolFormat']): CallResponse {
  return format === 'native'
    ? { calls: toolCalls.map((call) => ({ name: call.name, arguments: call.arguments })) }
    : { text };
}

/** The value of a text of JSON; undefined where it is none. */
export function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

export const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
