/** A policy client by OpenAI's completions, as vLLM and the embedded policy server extend them. */
import { APIConnectionError, APIConnectionTimeoutError, APIError } from 'openai';
import type OpenAI from 'openai';
import { z } from 'zod';
import { AnswerTooLarge } from '../async/bounded-fetch.ts';
import {
  boundAnswer,
  MAX_LIST_BYTES,
  maxAnswerBytes,
  maxLogprobsBytes,
  maxTokensBytes,
  maxTokensValues,
} from './answer-limits.ts';
import { checkAnswer, listOf, requireAnswerSize } from './answer-schemas.ts';
import { parseAnswer } from './completion-answers.ts';
import { modelCardsSchema } from './model-cards.ts';
import { createOpenAiClient } from './openai-client.ts';
import { connectionProblem, secondsText, shortReason } from './outage-reason.ts';
import {
  DamagedModel,
  InvalidAnswer,
  ModelNotServed,
  ModelUnavailable,
  PromptTooLong,
  RequestRefused,
  ServerProblem,
} from './policy-client.ts';
import type { Completion, CompletionRequest, LogprobsRequest, PolicyClient } from './policy-client.ts';
import { completeSeparately, completeTogether } from './prompt-requests.ts';
import { serverRoot } from './server-urls.ts';
import type { ServerAddress } from './server-urls.ts';

const tokenizedSchema = z.object({ tokens: listOf(z.int().min(0)) });
/** Sums of float32 log-probabilities may exceed 0 by their rounding. */
const logprobsSchema = z.object({ logprobs: listOf(z.number().max(1e-3)) });

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
    return parseAnswer(answer, request, returnsTokenIds);
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

  async function contextLength(model: string, signal: AbortSignal): Promise<number | null> {
    try {
      const answer: unknown = await client.get('/models', { signal, ...boundAnswer(MAX_LIST_BYTES) });
      requireAnswerSize(answer, `models of ${baseUrl}`);
      const parsed = modelCardsSchema.safeParse(answer);
      const cards = parsed.success ? parsed.data.data : [];
      const card = cards.find(({ id }) => id === model);
      // vLLM names the length of the base model alone, the embedded server that of each model.
      const base = canBatchPrompts ? undefined : cards.find(({ max_model_len: length }) => length);
      return card?.max_model_len ?? base?.max_model_len ?? null;
    } catch (error) {
      if (signal.aborted) throw signal.reason;
      const failure = toModelError(error, { baseUrl, timeoutMs }, model);
      if (failure instanceof ModelNotServed) return null;
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

/** Whether nothing listens at a path: a server or a proxy that knows the path says what it lacks instead. */
const isMissingEndpoint = (error: unknown): boolean =>
  error instanceof APIError && error.status === 404 && error.error === undefined;

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

type Server = Pick<ServerAddress, 'baseUrl' | 'timeoutMs'>;

/** The error of a server that took a request and did not answer it within its limit. */
const unansweredInTime = ({ baseUrl, timeoutMs }: Server, model: string, cause: unknown): ModelUnavailable =>
  new ModelUnavailable(`${baseUrl} did not answer for ${model} in ${timeoutMs} ms`, {
    cause,
    server: baseUrl,
    reason: `no answer in ${secondsText(timeoutMs)}`,
  });

/** The error of this room that an error of OpenAI's client stands for, which decides about a retry. */
export function toModelError(error: unknown, server: Server, model: string): unknown {
  const { baseUrl } = server;
  if (error instanceof InvalidAnswer || error instanceof ServerProblem) return error;
  if (error instanceof APIConnectionTimeoutError || (error instanceof Error && error.name === 'TimeoutError'))
    return unansweredInTime(server, model, error);
  if (error instanceof AnswerTooLarge) return new InvalidAnswer(`${baseUrl}, ${model}: ${error.message}`);
  if (error instanceof APIConnectionError) {
    const reason = connectionProblem(error);
    return new ModelUnavailable(`${baseUrl} does not answer: ${reason}`, {
      cause: error,
      server: baseUrl,
      reason,
    });
  }
  if (error instanceof APIError) {
    const status = error.status as number | undefined;
    const message = `${baseUrl} answered ${status ?? 'an error'} for ${model}: ${error.message}`;
    const problem = { cause: error, server: baseUrl, reason: shortReason(`answered ${error.message}`) };
    if (error.code === 'model_damaged') return new DamagedModel(error.param ?? model, message);
    if (status === 404 || (status === 400 && isAdapterMissing(error)))
      return new ModelNotServed(message, problem);
    if (status === 400 && isPromptTooLong(error)) return new PromptTooLong(message, { cause: error });
    const isRefused =
      status !== undefined && status >= 400 && status < 500 && ![408, 409, 425, 429].includes(status);
    return isRefused
      ? new RequestRefused(message, { cause: error })
      : new ModelUnavailable(message, {
          ...problem,
          retryAfterMs: parseRetryAfter(error.headers as Headers | undefined),
        });
  }
  // An answer that is not JSON surfaces as a SyntaxError or a terminated stream.
  const reason = `an unreadable answer: ${connectionProblem(error)}`;
  return new ModelUnavailable(`${baseUrl} gave ${reason} for ${model}`, {
    cause: error,
    server: baseUrl,
    reason,
  });
}

/** SGLang has no status of its own for an adapter that it does not know, or that it cannot read again. */
const isAdapterMissing = ({ message }: { message: string }): boolean =>
  /LoRA adapters?\b.*(never been loaded|are not loaded)|implicitly load LoRA adapter/.test(message);

/**
 * By OpenAI's error code, or by the message of servers that send none. vLLM says of a prompt that fills the
 * context to its last token that it leaves no `max_tokens`; SGLang has three texts, by what does not fit where.
 */
const isPromptTooLong = ({ code, message }: { code?: unknown; message: string }): boolean =>
  code === 'context_length_exceeded' ||
  /maximum (context|model|allowed) length|context length (of|\()|max_tokens must be at least 1, got 0/i.test(
    message,
  );

function parseRetryAfter(headers: Headers | undefined): number | undefined {
  const header = headers?.get('retry-after');
  const seconds = header ? Number(header) : NaN;
  return Number.isFinite(seconds) ? seconds * 1000 : undefined;
}
