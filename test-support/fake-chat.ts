import { randomStream } from '../src/numerics/random.ts';
import type { RandomStream } from '../src/numerics/random.ts';
import { historyFault } from './chat-history.ts';
import type { WireMessage } from './chat-history.ts';
import type { Reply } from './model-server-faults.ts';

/** A question of a chat as it came over the wire. */
export interface ReceivedChat {
  model: string;
  messages: WireMessage[];
  seed: number;
  temperature: number;
  max_tokens: number;
  stop?: string[];
  tools?: { function: { name: string } }[];
  response_format?: object;
}

/** Calls of tools, by a server that parses them itself. */
export type FakeCalls = { calls: { name: string; arguments: string }[] };
/** What a chat answers; a number is the status of an error, null no content, as of SGLang for an empty text. */
export type FakeChat = (
  messages: ReceivedChat['messages'],
  random: RandomStream,
  request: ReceivedChat,
) => string | FakeCalls | { aborted: string } | number | null;

/** What a server with chat completions replies to a question. */
export function replyToChat(question: ReceivedChat, chat: FakeChat): Reply {
  const refused = historyFault(question.messages);
  if (refused !== null) return { status: 400, body: { error: { message: refused } } };
  const said = chat(question.messages, randomStream(question.seed), question);
  if (typeof said === 'number') {
    const code = said === 400 && { code: 'context_length_exceeded' };
    return { status: said, body: { error: { message: 'as the test wants it', ...code } } };
  }
  const { text, message, ending } = contentOf(said);
  const read = question.messages.reduce((sum, { content: before }) => sum + before.length, 0);
  const content = text.slice(0, question.max_tokens);
  return {
    status: 200,
    body: {
      id: 'chat-fake',
      object: 'chat.completion',
      created: 0,
      model: question.model,
      choices: [
        {
          index: 0,
          message: { role: 'assistant', content, ...message },
          finish_reason: ending ?? (content.length < text.length ? 'length' : 'stop'),
        },
      ],
      usage: {
        prompt_tokens: read,
        completion_tokens: content.length,
        total_tokens: read + content.length,
      },
    },
  };
}

/** The text, what else the message has, and why it ends, if not by itself or its limit. */
function contentOf(said: Exclude<ReturnType<FakeChat>, number>): {
  text: string;
  message?: object;
  ending?: string;
} {
  if (said === null) return { text: '', message: { content: null } };
  if (typeof said === 'string') return { text: said };
  if ('aborted' in said) return { text: said.aborted, ending: 'abort' };
  const calls = said.calls.map((call, index) => ({ id: `call_${index}`, type: 'function', function: call }));
  return { text: '', message: { tool_calls: calls, content: null } };
}
