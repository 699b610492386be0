/** What errors of a model server's client stand for, which decides about a retry. */
import { APIConnectionError, APIConnectionTimeoutError, APIError } from 'openai';
import { AnswerTooLarge } from '../async/bounded-fetch.ts';
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
import type { ServerAddress } from './server-urls.ts';

type Server = Pick<ServerAddress, 'baseUrl' | 'timeoutMs'>;

/** The error of a server that took a request and did not answer it within its limit. */
export const unansweredInTime = (
  { baseUrl, timeoutMs }: Server,
  model: string,
  cause: unknown,
): ModelUnavailable =>
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

/** Whether nothing listens at a path: a server or a proxy that knows the path says what it lacks instead. */
export const isMissingEndpoint = (error: unknown): boolean =>
  error instanceof APIError && error.status === 404 && error.error === undefined;
