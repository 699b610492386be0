/** Clients by OpenAI's chat completions: of any model, and of policies that are never trained. */
import type { ChatCompletionMessageParam } from 'openai/resources/chat/completions';
import { z } from 'zod';
import { mapConcurrent } from '../async/map-concurrent.ts';
import type { Answer, Message, Question, ToolSpec } from '../formats/chat-messages.ts';
import { deriveSeed } from '../numerics/random.ts';
import { boundAnswer, checkTextLength, maxChatAnswerBytes, maxChatAnswerValues } from './answer-limits.ts';
import { checkAnswer, countedTokens, listOf } from './answer-schemas.ts';
import { ABORTED } from './completion-answers.ts';
import { responseFormat } from './completions-client.ts';
import { abortedAnswer, toModelError } from './model-errors.ts';
import { createOpenAiClient } from './openai-client.ts';
import { secondsText } from './outage-reason.ts';
import { ModelUnavailable, promptSeed, RequestRefused } from './policy-client.ts';
import type { Completion, PolicyClient } from './policy-client.ts';
import { completionWithoutTokens, undefinedIfTooLong } from './prompt-too-long.ts';
import { waitOutRateLimit } from './rate-limit.ts';
import type { ServerAddress } from './server-urls.ts';

/** A question to a model whose token ids are not needed. */
export interface ChatRequest extends Question {
  model: string;
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

/**
 * The client of any server with OpenAI's chat completions. It waits where the server limits the rate of requests,
 * within the limit of one; all else is retried by the activity.
 */
export function createChatClient(server: ServerAddress): ChatClient {
  const ask = createRequest(server);
  return {
    answer: (request, signal) =>
      waitOutRateLimit(() => ask(request, signal), { limitMs: server.timeoutMs, signal }),
  };
}

/** One request, whatever comes of it. */
function createRequest(server: ServerAddress): ChatClient['answer'] {
  const client = createOpenAiClient(server);
  return async ({ model, messages, tools, stop, seed, temperature, maxTokens, schema }, signal) => {
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

/** Questions in flight at a time: servers limit the rate of requests. */
const CONCURRENCY = 8;
/** Seeds below this are accepted by every compatible server. */
export const SEED_LIMIT = 2 ** 31;

/**
 * A policy client on top of chat completions, a question for each sample: texts alone, for frozen policies. A
 * request is answered as a whole or not at all, within `timeoutMs`, so a small `durability.promptsPerRequest`
 * loses little.
 */
export function createChatPolicyClient(
  client: ChatClient,
  { baseUrl, timeoutMs }: { baseUrl: string; timeoutMs: number },
): PolicyClient {
  return {
    async complete(request, signal) {
      const { model, prompts, n, temperature, maxTokens, schema } = request;
      const limit = AbortSignal.timeout(timeoutMs);
      const samples = prompts.flatMap((prompt, row) => {
        if (typeof prompt !== 'string')
          throw new RequestRefused(`${baseUrl}: chat completions take texts, not token ids`);
        return Array.from({ length: n }, (_, sample) => ({ prompt, row, sample }));
      });
      try {
        return await mapConcurrent(
          samples,
          CONCURRENCY,
          AbortSignal.any([signal, limit]),
          async ({ prompt, row, sample }, stop): Promise<Completion> => {
            const question = {
              model,
              messages: [{ role: 'user' as const, content: prompt }],
              seed: deriveSeed(promptSeed(request, row), sample) % SEED_LIMIT,
              temperature,
              maxTokens,
              ...(schema && { schema }),
            };
            const answer = await undefinedIfTooLong(client.answer(question, stop));
            const textOnly = completionWithoutTokens(row, sample, answer);
            return {
              ...textOnly,
              ...(answer && { tokens: answer.tokens }),
              ...(answer?.promptTokens !== undefined && { promptTokens: answer.promptTokens }),
              seed: question.seed,
            };
          },
        );
      } catch (error) {
        if (signal.aborted) throw signal.reason;
        if (limit.aborted)
          throw new ModelUnavailable(
            `${baseUrl} did not answer ${samples.length} questions for ${model} in ${timeoutMs} ms`,
            {
              cause: error,
              server: baseUrl,
              reason: `${samples.length} questions not answered in ${secondsText(timeoutMs)}`,
            },
          );
        throw error;
      }
    },
    tokenize: (model) =>
      Promise.reject(new RequestRefused(`${baseUrl}: chat completions of ${model} give no token ids`)),
    // What a chat template adds to a prompt is not known.
    contextLength: () => Promise.resolve(null),
    promptLength: (model) =>
      Promise.reject(new RequestRefused(`${baseUrl}: chat completions of ${model} count no tokens`)),
  };
}
