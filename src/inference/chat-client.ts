import OpenAI from 'openai';
import type { ChatCompletionMessageParam } from 'openai/resources/chat/completions';
import { z } from 'zod';
import { mapConcurrent } from '../async/map-concurrent.ts';
import type { Answer, Message, Question, ToolSpec } from '../formats/chat-messages.ts';
import { deriveSeed } from '../numerics/random.ts';
import { classify, responseFormat } from './completions-client.ts';
import { InvalidAnswer, ModelUnavailable, RequestRefused } from './policy-client.ts';
import type { Completion, PolicyClient } from './policy-client.ts';

/** A question to a model that this project reads no token ids of. */
export interface ChatRequest extends Question {
  model: string;
  seed: number;
  temperature: number;
  maxTokens: number;
  /** JSON Schema that the server holds the answer to. */
  schema?: Readonly<Record<string, unknown>>;
}

export type ChatAnswer = Answer;

export interface ChatClient {
  /** @throws as `PolicyServer.complete` does */
  answer(request: ChatRequest, signal: AbortSignal): Promise<ChatAnswer>;
}

const toolCallSchema = z
  .object({ id: z.string(), function: z.object({ name: z.string(), arguments: z.string() }) })
  .transform(({ id, function: { name, arguments: given } }) => ({ id, name, arguments: given }));
// A model that only calls tools has no content.
const messageSchema = z
  .object({ content: z.string().nullish(), tool_calls: z.array(toolCallSchema).nullish() })
  .refine(
    ({ content, tool_calls: calls }) => typeof content === 'string' || calls,
    'expected content or tool calls',
  );
const answerSchema = z.object({
  choices: z.tuple([z.object({ message: messageSchema, finish_reason: z.string().nullish() })]),
  usage: z.object({ completion_tokens: z.int().min(0) }).nullish(),
});

/** Any server that speaks OpenAI's chat completions. It never retries by itself: the activity does. */
export function createChatClient({
  baseUrl,
  apiKey,
  timeoutMs,
}: {
  baseUrl: string;
  apiKey: string | undefined;
  timeoutMs: number;
}): ChatClient {
  const client = new OpenAI({
    baseURL: baseUrl,
    apiKey: apiKey ?? 'none',
    maxRetries: 0,
    timeout: timeoutMs,
  });
  return {
    async answer({ model, messages, tools, stop, seed, temperature, maxTokens, schema }, signal) {
      // The client's own timeout ends with the head of the answer; this one covers its body too.
      const limit = AbortSignal.timeout(timeoutMs);
      try {
        // The names that every compatible server knows, though OpenAI's own has newer ones.
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
          signal: AbortSignal.any([signal, limit]),
        });
        const parsed = answerSchema.safeParse(received);
        if (!parsed.success) throw new InvalidAnswer(`answer of ${model}: ${z.prettifyError(parsed.error)}`);
        const { choices, usage } = parsed.data;
        const { content, tool_calls: calls } = choices[0].message;
        return {
          text: storable(content ?? ''),
          toolCalls: (calls ?? []).map((call) => ({
            id: storable(call.id),
            name: storable(call.name),
            arguments: storable(call.arguments),
          })),
          tokens: usage?.completion_tokens ?? 0,
          finish_reason: choices[0].finish_reason ?? 'stop',
        };
      } catch (error) {
        if (signal.aborted) throw signal.reason;
        if (limit.aborted)
          throw new ModelUnavailable(`${baseUrl} did not answer for ${model} in ${timeoutMs} ms`, {
            cause: error,
          });
        throw classify(error, baseUrl, model);
      }
    },
  };
}

/** Half of a surrogate pair, which JSON lets through, cannot be stored as UTF-8. */
const storable = (text: string): string => text.toWellFormed();

const wireTool = ({ name, description, parameters }: ToolSpec) => ({
  type: 'function' as const,
  function: { name, description, parameters: { ...parameters } },
});

/**
 * A message as servers take it. They refuse a conversation with arguments that are no JSON object: what a
 * model wrote instead stands there as `{}`.
 */
export function wireMessage(message: Message): ChatCompletionMessageParam {
  if (message.role === 'tool')
    return { role: 'tool', content: message.content, tool_call_id: message.toolCallId };
  if (message.role !== 'assistant' || message.toolCalls === undefined || message.toolCalls.length === 0)
    return { role: message.role, content: message.content };
  return {
    role: 'assistant',
    content: message.content,
    tool_calls: message.toolCalls.map(({ id, name, arguments: given }) => ({
      id,
      type: 'function',
      function: { name, arguments: isJsonObject(given) ? given : '{}' },
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

/** Questions under way at a time: servers limit the rate of requests. */
const concurrency = 8;
/** Seeds that every compatible server takes. */
const seeds = 2 ** 31;

/**
 * A policy server out of chat completions, a question for each sample: texts alone, for frozen policies. A
 * request is answered as a whole or not at all, within `timeoutMs`, so a small `durability.promptsPerRequest`
 * loses little.
 */
export function createChatPolicyClient(
  server: ChatClient,
  { baseUrl, timeoutMs }: { baseUrl: string; timeoutMs: number },
): PolicyClient {
  return {
    async complete({ model, prompts, n, seed, temperature, maxTokens, schema }, signal) {
      const limit = AbortSignal.timeout(timeoutMs);
      const asked = prompts.flatMap((prompt, row) => {
        if (typeof prompt !== 'string')
          throw new RequestRefused(`${baseUrl}: chat completions take texts, not token ids`);
        return Array.from({ length: n }, (_, sample) => ({ prompt, row, sample }));
      });
      try {
        return await mapConcurrent(
          asked,
          concurrency,
          AbortSignal.any([signal, limit]),
          async ({ prompt, row, sample }, stop): Promise<Completion> => {
            const question = {
              model,
              messages: [{ role: 'user' as const, content: prompt }],
              seed: deriveSeed(seed, row, sample) % seeds,
              temperature,
              maxTokens,
              ...(schema && { schema }),
            };
            const { text, finish_reason } = await server.answer(question, stop);
            return {
              prompt: row,
              sample,
              text,
              prompt_token_ids: [],
              token_ids: [],
              logprobs: [],
              finish_reason,
            };
          },
        );
      } catch (error) {
        if (signal.aborted) throw signal.reason;
        if (limit.aborted)
          throw new ModelUnavailable(
            `${baseUrl} did not answer ${asked.length} questions for ${model} in ${timeoutMs} ms`,
            { cause: error },
          );
        throw error;
      }
    },
    tokenize: (model) =>
      Promise.reject(new RequestRefused(`${baseUrl}: chat completions of ${model} give no token ids`)),
  };
}
