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

const TOO_MANY_REQUESTS = 429;

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

/** The error for an answer that the server ended before it was whole: what there is of it is no sample. */
export function abortedAnswer(baseUrl: string, model: string, why = 'aborted'): ModelUnavailable {
  const reason = `gave up a sample: ${why}`;
  return new ModelUnavailable(`${baseUrl} ${reason} (${model})`, { server: baseUrl, reason });
}

/** No key, one that is not valid (any more), an account without credit, a key without rights. */
const KEY_REFUSALS = [401, 402, 403];

/**
 * The error for an answer that speaks of the key, which whoever runs the worker can replace at any time: it is waited
 * for. Undefined for any other status.
 */
export function keyProblem(
  server: string,
  status: number | undefined,
  message: string,
): ModelUnavailable | undefined {
  if (status === undefined || !KEY_REFUSALS.includes(status)) return undefined;
  return new ModelUnavailable(message, { server, reason: shortReason(`it refuses the key: ${message}`) });
}

/** The error of this room that an error of OpenAI's client stands for, which decides about a retry. */
export function toModelError(error: unknown, server: Server, model: string): unknown {
  const { baseUrl } = server;
  if (error instanceof ServerProblem) return error;
  if (error instanceof InvalidAnswer)
    return error.message.includes(baseUrl)
      ? error
      : new InvalidAnswer(`${baseUrl}: ${error.message}`, { cause: error });
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
    if (isPromptTooLong({ ...error, status, message: error.message }))
      return new PromptTooLong(message, { cause: error });
    const refusedKey = keyProblem(baseUrl, status, message);
    if (refusedKey !== undefined) return refusedKey;
    const isRefused =
      status !== undefined && status >= 400 && status < 500 && ![408, 409, 425, 429].includes(status);
    return isRefused
      ? new RequestRefused(message, { cause: error })
      : new ModelUnavailable(message, {
          ...problem,
          isRateLimit: status === TOO_MANY_REQUESTS,
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
 * What servers say of a prompt that they have no room for, alone or with the `max_tokens` after it: only OpenAI and
 * llama.cpp have a code for it.
 */
const promptTooLongTexts = [
  // vLLM and Mistral; of a prompt that fills the context, vLLM says that it leaves no `max_tokens`.
  /maximum (context|model|allowed) length/i,
  /max_(completion_)?tokens must be at least 1, got (0|-\d+)/i,
  // SGLang has three texts, by what does not fit where.
  /context length (of|\()/i,
  // llama.cpp and its Python server.
  /exceeds? (the available context size|context window of)/i,
  // Text Generation Inference: with the answer, or alone.
  /`inputs` tokens \+ `max_new_tokens` must be <=|`inputs` must have less than/i,
  /prompt is too long/i,
];

interface Refusal {
  status: number | undefined;
  code: unknown;
  type: unknown;
  message: string;
}

/** By what a server of a policy refused: a limit of the answer alone is a setting that no question fits. */
function isPromptTooLong({ status, code, type, message }: Refusal): boolean {
  if (code === 'context_length_exceeded' || type === 'exceed_context_size_error') return true;
  return [400, 413, 422].includes(status ?? 0) && promptTooLongTexts.some((text) => text.test(message));
}

function parseRetryAfter(headers: Headers | undefined): number | undefined {
  const header = headers?.get('retry-after');
  const seconds = header ? Number(header) : NaN;
  return Number.isFinite(seconds) ? seconds * 1000 : undefined;
}

/** Whether nothing listens at a path: a server or a proxy that knows the path says what it lacks instead. */
export const isMissingEndpoint = (error: unknown): boolean =>
  error instanceof APIError && error.status === 404 && error.error === undefined;
