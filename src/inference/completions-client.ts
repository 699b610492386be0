/** A policy client by OpenAI's completions, as vLLM and the embedded policy server extend them. */
import type OpenAI from 'openai';
import { z } from 'zod';
import {
  boundAnswer,
  MAX_LIST_BYTES,
  maxAnswerBytes,
  maxLogprobsBytes,
  maxTokensBytes,
  maxTokensValues,
} from './answer-limits.ts';
import { checkAnswer, listOf, requireAnswerSize } from './answer-schemas.ts';
import { parseAnswer, roundedLogprobSchema } from './completion-answers.ts';
import { modelCardSchema, modelCardsSchema } from './model-cards.ts';
import { createOpenAiClient } from './openai-client.ts';
import { isMissingEndpoint, toModelError, unansweredInTime } from './model-errors.ts';
import { InvalidAnswer, ModelNotServed } from './policy-client.ts';
import type { Completion, CompletionRequest, LogprobsRequest, PolicyClient } from './policy-client.ts';
import { completeSeparately, completeTogether } from './prompt-requests.ts';
import { serverRoot } from './server-urls.ts';
import type { ServerAddress } from './server-urls.ts';

const tokenizedSchema = z.object({ tokens: listOf(z.int().min(0)) });
const logprobsSchema = z.object({ logprobs: listOf(roundedLogprobSchema) });

export interface ModelServerOptions extends ServerAddress {
  /** false for a server that knows no `return_token_ids`; what it serves cannot be trained. */
  returnsTokenIds?: boolean;
  /**
   * Whether all prompts go in one request. Only the embedded server draws each prompt of a request from a
   * random stream of its own.
   */
  canBatchPrompts?: boolean;
}

/**
 * The client of a server with OpenAI's completions and vLLM's extensions (`return_token_ids`, `n`, `seed`,
 * `logprobs`). It never retries by itself: the activity does, with the same request.
 */
export function createCompletionsClient({
  returnsTokenIds = true,
  ...server
}: ModelServerOptions): PolicyClient {
  const extensions = returnsTokenIds ? { return_token_ids: true, logprobs: 0 } : {};
  return createServerClient(server, async ({ client }, request, signal) => {
    const answer = await client.completions.create(
      {
        model: request.model,
        prompt: request.prompts,
        n: request.n,
        seed: request.seed,
        temperature: request.temperature,
        max_tokens: request.maxTokens,
        ...(request.stop && { stop: [...request.stop] }),
        ...responseFormat(request.schema),
        ...(request.grammar !== undefined && { structured_outputs: { grammar: request.grammar } }),
        ...extensions,
      },
      { signal, ...boundAnswer(maxAnswerBytes(request)) },
    );
    return parseAnswer(answer, request, { baseUrl: server.baseUrl, returnsTokenIds });
  });
}

/** What an endpoint is asked with; it rejects with the errors of OpenAI's client, or with those of this room. */
export interface ServerCalls {
  client: OpenAI;
  /** @param isPrompt whether the tokenizer may put tokens before and after the text, as in a request */
  tokenize: (model: string, text: string, isPrompt: boolean, signal: AbortSignal) => Promise<number[]>;
}

/**
 * The client of a server whose completions `send` asks for; what it says of lengths and tokens, it says as vLLM
 * does. It never retries by itself.
 */
export function createServerClient(
  { baseUrl, apiKey, timeoutMs, canBatchPrompts = false }: Omit<ModelServerOptions, 'returnsTokenIds'>,
  send: (calls: ServerCalls, request: CompletionRequest, signal: AbortSignal) => Promise<Completion[]>,
): PolicyClient {
  const client = createOpenAiClient({ baseUrl, apiKey, timeoutMs });
  const calls: ServerCalls = {
    client,
    tokenize: async (model, prompt, isPrompt, signal) => {
      const answer: unknown = await client.post(`${serverRoot(baseUrl)}/tokenize`, {
        body: { model, prompt, add_special_tokens: isPrompt },
        signal,
        ...boundAnswer(maxTokensBytes(prompt)),
      });
      return checkAnswer(tokenizedSchema, answer, `tokens of ${model}`, maxTokensValues(prompt)).tokens;
    },
  };
  /** Gives errors the names of this room. */
  const ask = async <Answer>(model: string, signal: AbortSignal, work: Promise<Answer>): Promise<Answer> => {
    try {
      return await work;
    } catch (error) {
      throw signal.aborted ? signal.reason : toModelError(error, { baseUrl, timeoutMs }, model);
    }
  };

  const answerTo = async (path: string, signal: AbortSignal): Promise<unknown> => {
    const answer: unknown = await client.get(path, { signal, ...boundAnswer(MAX_LIST_BYTES) });
    requireAnswerSize(answer, `models of ${baseUrl}`);
    return answer;
  };

  async function contextLength(model: string, signal: AbortSignal): Promise<number | null> {
    try {
      if (canBatchPrompts) {
        // The embedded server has a name for each version of each policy: thousands in a list.
        const card = modelCardSchema.safeParse(
          await answerTo(`/models/${encodeURIComponent(model)}`, signal),
        );
        return card.data?.max_model_len ?? null;
      }
      const parsed = modelCardsSchema.safeParse(await answerTo('/models', signal));
      const cards = parsed.data?.data ?? [];
      // vLLM names the length of the base model alone.
      const card = cards.find(({ id }) => id === model);
      const base = cards.find(({ max_model_len: length }) => length);
      return card?.max_model_len ?? base?.max_model_len ?? null;
    } catch (error) {
      if (signal.aborted) throw signal.reason;
      const failure = toModelError(error, { baseUrl, timeoutMs }, model);
      // A server without a list of models; one that was asked for a model alone lacks that model.
      if (failure instanceof ModelNotServed && !canBatchPrompts) return null;
      throw failure;
    }
  }

  return {
    async complete(request, signal) {
      // Each request has this limit; so have all prompts together.
      const limit = AbortSignal.timeout(timeoutMs);
      const stop = AbortSignal.any([signal, limit]);
      try {
        const complete = canBatchPrompts ? completeTogether : completeSeparately;
        return await complete(request, stop, (part, partStop) =>
          ask(part.model, partStop, send(calls, part, partStop)),
        );
      } catch (error) {
        if (signal.aborted) throw signal.reason;
        if (!limit.aborted) throw error;
        throw unansweredInTime({ baseUrl, timeoutMs }, request.model, error);
      }
    },
    // Of all servers the embedded one alone is asked with many prompts, and has this endpoint.
    ...(canBatchPrompts && {
      completionLogprobs: ({ model, prompts, completions }: LogprobsRequest, signal: AbortSignal) =>
        ask(model, signal, logprobsOf(client, baseUrl, { model, prompts, completions }, signal)),
    }),
    tokenize: (model, text, signal) => ask(model, signal, calls.tokenize(model, text, false, signal)),
    promptLength: async (model, prompt, signal) => {
      const tokens = calls.tokenize(model, prompt, true, signal).catch((error: unknown) => {
        // Completions say themselves which prompt is too long.
        if (isMissingEndpoint(error)) return [];
        throw error;
      });
      return (await ask(model, signal, tokens)).length;
    },
    contextLength,
  };
}

async function logprobsOf(
  client: OpenAI,
  baseUrl: string,
  { model, prompts, completions }: LogprobsRequest,
  signal: AbortSignal,
): Promise<number[]> {
  const answer: unknown = await client.post(`${serverRoot(baseUrl)}/completion_logprobs`, {
    body: { model, prompt: prompts, completion: completions },
    signal,
    ...boundAnswer(maxLogprobsBytes(prompts.length)),
  });
  const what = `log-probabilities of ${model}`;
  const { logprobs } = checkAnswer(logprobsSchema, answer, what);
  if (logprobs.length !== prompts.length)
    throw new InvalidAnswer(
      `${what}: got ${logprobs.length}; expected ${prompts.length}, one of each prompt`,
    );
  return logprobs;
}

/** Structured output, as OpenAI's chat completions and both endpoints of vLLM take it. */
export const responseFormat = (schema: CompletionRequest['schema']) =>
  schema === undefined
    ? {}
    : {
        response_format: {
          type: 'json_schema' as const,
          json_schema: { name: 'task', schema: { ...schema } },
        },
      };
