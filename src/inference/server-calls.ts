/** Plain calls of a model server, for what no client library knows. */
import type { z } from 'zod';
import { AnswerTooLarge } from '../async/bounded-fetch.ts';
import { MAX_LIST_BYTES } from './answer-limits.ts';
import { checkAnswer } from './answer-schemas.ts';
import { keyProblem } from './model-errors.ts';
import { connectionProblem, shortReason } from './outage-reason.ts';
import { InvalidAnswer, ModelUnavailable, RequestRefused } from './policy-client.ts';
import { serverFetch } from './server-urls.ts';
import type { ServerAddress } from './server-urls.ts';

/** As `checkAnswer`. @throws InvalidAnswer */
export function parseBody<Schema extends z.ZodType>(
  schema: Schema,
  text: string,
  what: string,
  maxValues?: number,
): z.output<Schema> {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    json = undefined;
  }
  return checkAnswer(schema, json, what, maxValues);
}

export type Call = (path: string, body: object | undefined) => Promise<{ status: number; text: string }>;

/** Statuses of a server, or of a gateway before it, that cannot answer now, whatever it is asked. */
const AWAY = [408, 409, 425, 429, 502, 503, 504];

/** Calls a server by paths below its address; without a body by GET. @throws ModelUnavailable, InvalidAnswer */
export function createCaller(server: ServerAddress): Call {
  const { baseUrl } = server;
  const fetch = serverFetch(server);
  const receive: Call = async (path, body) => {
    try {
      const response = await fetch(`${baseUrl.replace(/\/$/, '')}${path}`, {
        headers: { 'content-type': 'application/json' },
        maxBytes: MAX_LIST_BYTES,
        ...(body !== undefined && { method: 'POST', body: JSON.stringify(body) }),
      });
      return { status: response.status, text: await response.text() };
    } catch (cause) {
      if (cause instanceof AnswerTooLarge) throw new InvalidAnswer(`${baseUrl}${path}: ${cause.message}`);
      const reason = connectionProblem(cause);
      throw new ModelUnavailable(`${baseUrl} does not answer: ${reason}`, { cause, server: baseUrl, reason });
    }
  };
  return async (path, body) => {
    const { status, text } = await receive(path, body);
    if (!AWAY.includes(status)) return { status, text };
    const reason = shortReason(`answered ${status}: ${text}`);
    throw new ModelUnavailable(`${baseUrl}${path}: ${reason}`, { server: baseUrl, reason });
  };
}

/** What no other try changes is refused; the server's own errors pass, and so may what it says of a key. */
export function failureOf(
  server: string,
  status: number,
  message: string,
): ModelUnavailable | RequestRefused {
  if (status >= 500) return new ModelUnavailable(message, { server, reason: shortReason(message) });
  return keyProblem(server, status, message) ?? new RequestRefused(message);
}
