/** A policy client by OpenAI's completions, as vLLM and the embedded policy server extend them. */
import { isDeepStrictEqual } from 'node:util';
import { APIConnectionError, APIError } from 'openai';
import OpenAI from 'openai';
import { z } from 'zod';
import { connectionProblem, secondsText, shortReason } from './outage-reason.ts';
import {
  DamagedModel,
  InvalidAnswer,
  ModelNotServed,
  ModelUnavailable,
  PromptTooLong,
  RequestRefused,
} from './policy-client.ts';
import type { Completion, CompletionRequest, PolicyClient } from './policy-client.ts';

const tokenIds = z.array(z.int().min(0));
const textChoice = { index: z.int().min(0), text: z.string(), finish_reason: z.string() };
const createAnswerSchema = <Choice extends z.ZodType>(choice: Choice) =>
  z.object({ model: z.string(), choices: z.array(choice) });
const answerSchema = createAnswerSchema(
  z.object({
    ...textChoice,
    token_ids: tokenIds,
    prompt_token_ids: tokenIds,
    logprobs: z.object({ token_logprobs: z.array(z.number()) }),
  }),
);
/**
 * Of a server that gives no token ids: enough for a frozen policy, which is never trained on what it wrote.
 */
const textAnswerSchema = createAnswerSchema(
  z.object(textChoice).transform((choice) => ({
    ...choice,
    token_ids: [],
    prompt_token_ids: [],
    logprobs: { token_logprobs: [] },
  })),
);

const tokenizedSchema = z.object({ tokens: tokenIds });

/** Parses an answer and checks it against its request. @throws InvalidAnswer saying what is wrong with it */
export function parseAnswer(
  answer: unknown,
  request: CompletionRequest,
  returnsTokenIds = true,
): Completion[] {
  const parsed = (returnsTokenIds ? answerSchema : textAnswerSchema).safeParse(answer);
  if (!parsed.success)
    throw new InvalidAnswer(`answer of ${request.model}: ${z.prettifyError(parsed.error)}`);
  const { model, choices } = parsed.data;
  if (model !== request.model)
    throw new InvalidAnswer(
      `answer of model ${JSON.stringify(model)}; ${JSON.stringify(request.model)} was asked`,
    );
  const expected = request.prompts.length * request.n;
  if (choices.length !== expected)
    throw new InvalidAnswer(`answer of ${model} has ${choices.length} choices; ${expected} were asked`);
  return choices
    .toSorted((a, b) => a.index - b.index)
    .map((choice, index) => {
      const logprobs = choice.logprobs.token_logprobs;
      if (choice.index !== index) throw new InvalidAnswer(`answer of ${model} lacks choice ${index}`);
      if (logprobs.length !== choice.token_ids.length)
        throw new InvalidAnswer(
          `choice ${index} of ${model} has ${choice.token_ids.length} token ids ` +
            `but ${logprobs.length} log-probabilities`,
        );
      const sent = request.prompts[Math.floor(index / request.n)];
      if (typeof sent === 'object' && !isDeepStrictEqual(sent, choice.prompt_token_ids))
        throw new InvalidAnswer(`choice ${index} of ${model} follows other tokens than those sent`);
      if (choice.token_ids.length > request.maxTokens)
        throw new InvalidAnswer(
          `choice ${index} of ${model} has ${choice.token_ids.length} tokens; ` +
            `at most ${request.maxTokens} were asked`,
        );
      return {
        prompt: Math.floor(index / request.n),
        sample: index % request.n,
        // Half of a surrogate pair, which JSON lets through, cannot be stored as UTF-8.
        text: choice.text.toWellFormed(),
        prompt_token_ids: choice.prompt_token_ids,
        token_ids: choice.token_ids,
        logprobs,
        finish_reason: choice.finish_reason,
      };
    });
}

export interface ModelServerOptions {
  baseUrl: string;
  apiKey: string | undefined;
  timeoutMs: number;
  /** false for a server that knows no `return_token_ids`; what it serves cannot be trained. */
  returnsTokenIds?: boolean;
}

/**
 * The client of a server with OpenAI's completions and vLLM's extensions (`return_token_ids`, several
 * prompts, `n`, `seed`, `logprobs`). It never retries by itself: the activity does, with the same request.
 */
export function createCompletionsClient({
  baseUrl,
  apiKey,
  timeoutMs,
  returnsTokenIds = true,
}: ModelServerOptions): PolicyClient {
  const client = new OpenAI({
    baseURL: baseUrl,
    apiKey: apiKey ?? 'none',
    maxRetries: 0,
    timeout: timeoutMs,
  });
  return {
    async complete(request, signal) {
      const extensions = returnsTokenIds ? { return_token_ids: true, logprobs: 0 } : {};
      // The client's own timeout ends with the headers of the answer; this one covers its body too.
      const limit = AbortSignal.timeout(timeoutMs);
      try {
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
            ...extensions,
          },
          { signal: AbortSignal.any([signal, limit]) },
        );
        return parseAnswer(answer, request, returnsTokenIds);
      } catch (error) {
        if (signal.aborted) throw signal.reason;
        if (limit.aborted) throw unansweredInTime(baseUrl, request.model, timeoutMs, error);
        throw toModelError(error, baseUrl, request.model);
      }
    },
    async tokenize(model, prompt, signal) {
      try {
        // vLLM serves it at the root, not below /v1.
        const answer: unknown = await client.post(new URL('/tokenize', baseUrl).href, {
          body: { model, prompt, add_special_tokens: false },
          signal,
        });
        const parsed = tokenizedSchema.safeParse(answer);
        if (!parsed.success) throw new InvalidAnswer(`tokens of ${model}: ${z.prettifyError(parsed.error)}`);
        return parsed.data.tokens;
      } catch (error) {
        if (signal.aborted) throw signal.reason;
        throw toModelError(error, baseUrl, model);
      }
    },
  };
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

/** The error of a server that took a request and did not answer it within its limit. */
export const unansweredInTime = (
  baseUrl: string,
  model: string,
  timeoutMs: number,
  cause: unknown,
): ModelUnavailable =>
  new ModelUnavailable(`${baseUrl} did not answer for ${model} in ${timeoutMs} ms`, {
    cause,
    server: baseUrl,
    reason: `no answer in ${secondsText(timeoutMs)}`,
  });

/** The error of this room that an error of OpenAI's client stands for, which decides about a retry. */
export function toModelError(error: unknown, baseUrl: string, model: string): unknown {
  if (error instanceof InvalidAnswer) return error;
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
    if (status === 404) return new ModelNotServed(message, problem);
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

/** By OpenAI's error code, or by the message of servers that send none. */
const isPromptTooLong = ({ code, message }: { code?: unknown; message: string }): boolean =>
  code === 'context_length_exceeded' || /maximum (context|model) length|context length of/i.test(message);

function parseRetryAfter(headers: Headers | undefined): number | undefined {
  const header = headers?.get('retry-after');
  const seconds = header ? Number(header) : NaN;
  return Number.isFinite(seconds) ? seconds * 1000 : undefined;
}
