/** The client of any server with OpenAI's chat completions. */
import type { ChatCompletionMessageParam } from 'openai/resources/chat/completions';
import { z } from 'zod';
import type { Answer, Message, Question, ToolSpec } from '../formats/chat-messages.ts';
import { boundAnswer, checkTextLength, maxChatAnswerBytes, maxChatAnswerValues } from './answer-limits.ts';
import { checkAnswer, countedTokens, listOf } from './answer-schemas.ts';
import { ABORTED } from './completion-answers.ts';
import { responseFormat } from './completions-client.ts';
import { abortedAnswer, toModelError } from './model-errors.ts';
import { createOpenAiClient } from './openai-client.ts';
import type { ServerAddress } from './server-urls.ts';

/** Seeds below this are accepted by every compatible server. */
export const SEED_LIMIT = 2 ** 31;

/** A question to a model whose token ids are not needed. */
export interface ChatRequest extends Question {
  model: string;
  /** Below SEED_LIMIT. */
  seed: number;
  temperature: number;
  maxTokens: number;
  /** JSON Schema that the server holds the answer to. */
  schema?: Readonly<Record<string, unknown>>;
}

export type ChatAnswer = Answer & {
  /** Tokens read; absent if the server does not count them. */
  promptTokens?: number;
};

export interface ChatClient {
  /** @throws as `PolicyClient.complete` does */
  answer(request: ChatRequest, signal: AbortSignal): Promise<ChatAnswer>;
}

const toolCallSchema = z
  .object({ id: z.string(), function: z.object({ name: z.string(), arguments: z.string() }) })
  .transform(({ id, function: call }) => ({ id, name: call.name, arguments: call.arguments }));
// A model that only calls tools has no content, nor has one that wrote nothing.
const messageSchema = z.object({
  content: z.string().nullish(),
  tool_calls: listOf(toolCallSchema).nullish(),
});
const answerSchema = z.object({
  choices: z.tuple([z.object({ message: messageSchema, finish_reason: z.string().nullish() })]),
  usage: z.object({ completion_tokens: countedTokens, prompt_tokens: countedTokens.nullish() }).nullish(),
});

/** A client of one server. It never retries by itself: `waitOutRateLimit` and the activity do. */
export function createChatClient(server: ServerAddress): ChatClient {
  const client = createOpenAiClient(server);
  return {
    async answer({ model, messages, tools, stop, seed, temperature, maxTokens, schema }, signal) {
      try {
        // The field names that every compatible server knows, though OpenAI's own has newer ones.
        const body = {
          model,
          messages: messages.map(wireMessage),
          seed,
          temperature,
          max_tokens: maxTokens,
          ...(tools && { tools: tools.map(wireTool) }),
          ...(stop && { stop: [...stop] }),
          ...responseFormat(schema),
        };
        const received = await client.chat.completions.create(body, {
          signal,
          ...boundAnswer(maxChatAnswerBytes(maxTokens)),
        });
        const { choices, usage } = checkAnswer(
          answerSchema,
          received,
          `answer of ${model}`,
          maxChatAnswerValues(maxTokens),
        );
        if (choices[0].finish_reason === ABORTED) throw abortedAnswer(server.baseUrl, model);
        const { content, tool_calls: calls } = choices[0].message;
        const written = [content ?? '', ...(calls ?? []).flatMap((call) => Object.values(call))].join('');
        checkTextLength(written, maxTokens, `answer of ${model}`);
        return {
          text: storableText(content ?? ''),
          toolCalls: (calls ?? []).map((call) => ({
            id: storableText(call.id),
            name: storableText(call.name),
            arguments: storableText(call.arguments),
          })),
          tokens: usage?.completion_tokens ?? 0,
          ...(typeof usage?.prompt_tokens === 'number' && { promptTokens: usage.prompt_tokens }),
          finish_reason: choices[0].finish_reason ?? 'stop',
        };
      } catch (error) {
        if (signal.aborted) throw signal.reason;
        throw toModelError(error, server, model);
      }
    },
  };
}

/** Half of a surrogate pair, which JSON lets through, cannot be stored as UTF-8. */
const storableText = (text: string): string => text.toWellFormed();

const wireTool = ({ name, description, parameters }: ToolSpec) => ({
  type: 'function' as const,
  function: { name, description, parameters: { ...parameters } },
});

/**
 * A message as servers take it. They refuse tool calls whose arguments are not a JSON object, so such
 * arguments are sent as `{}`.
 */
export function wireMessage(message: Message): ChatCompletionMessageParam {
  if (message.role === 'tool')
    return { role: 'tool', content: message.content, tool_call_id: message.toolCallId };
  if (message.role !== 'assistant' || message.toolCalls === undefined || message.toolCalls.length === 0)
    return { role: message.role, content: message.content };
  return {
    role: 'assistant',
    content: message.content,
    tool_calls: message.toolCalls.map((call) => ({
      id: call.id,
      type: 'function',
      function: { name: call.name, arguments: isJsonObject(call.arguments) ? call.arguments : '{}' },
    })),
  };
}

function isJsonObject(text: string): boolean {
  try {
    return z.record(z.string(), z.unknown()).safeParse(JSON.parse(text)).success;
  } catch {
    return false;
  }
}
