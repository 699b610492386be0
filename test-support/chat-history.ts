import type { Question } from '../src/formats/chat-messages.ts';
import { wireMessage } from '../src/inference/chat-client.ts';

/** A message as it comes over the wire. */
export type WireMessage = { role: string; content: string; tool_calls?: object[]; tool_call_id?: string };
type WireCall = { id: string; function: { name: string; arguments: string } };

/**
 * Why servers refuse a conversation: vLLM arguments that are no JSON object, OpenAI calls without an answer
 * each; null where they take it.
 */
export function historyFault(messages: readonly WireMessage[]): string | null {
  for (const [index, { tool_calls: calls = [] }] of messages.entries()) {
    const rest = messages.slice(index + 1);
    const next = rest.findIndex(({ role }) => role !== 'tool');
    const answered = rest.slice(0, next === -1 ? rest.length : next).map(({ tool_call_id: id }) => id);
    for (const {
      id,
      function: { name, arguments: parameters },
    } of calls as WireCall[]) {
      if (!isObject(parameters)) return `the arguments of ${name} are no JSON object: ${parameters}`;
      if (!answered.includes(id)) return `the call ${id} of ${name} has no answer`;
    }
  }
  return null;
}

/** The question, as a server would take it. @throws Error where it would refuse */
export function accepted(question: Question): Question {
  const fault = historyFault(question.messages.map(wireMessage) as WireMessage[]);
  if (fault !== null) throw new Error(fault);
  return question;
}

function isObject(text: string): boolean {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value);
  } catch {
    return false;
  }
}
