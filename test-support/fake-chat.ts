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
  const isAborted = typeof said === 'object' && said !== null && 'aborted' in said;
  const full = typeof said === 'string' ? said : isAborted ? said.aborted : '';
  const read = question.messages.reduce((sum, { content: text }) => sum + text.length, 0);
  const content = full.slice(0, question.max_tokens);
  const calls =
    said === null
      ? { content: null }
      : typeof said === 'string' || isAborted
        ? {}
        : {
            tool_calls: said.calls.map((call, index) => ({
              id: `call_${index}`,
              type: 'function',
              function: call,
            })),
            content: null,
          };
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
          message: { role: 'assistant', content, ...calls },
          finish_reason: isAborted ? 'abort' : content.length < full.length ? 'length' : 'stop',
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
