/** Requests whose answers are bounded: what a server sends is counted after decompression, as it arrives. */
import { Agent, fetch } from 'undici';
import type { BodyInit } from 'undici';
import { rememberKeys } from './sent-keys.ts';

/** Of an answer whose size does not follow from its request: lists of models, adapters, search results. */
const MAX_PLAIN_ANSWER_BYTES = 16_000_000;
/** What is read of an answer that is an error: enough for every message. */
const MAX_ERROR_BYTES = 64_000;
const MAX_STATUS = 599;
const BAD_GATEWAY = 502;

/** The answer is larger than anything that was asked for. Retried, as other answers that do not fit. */
export class AnswerTooLarge extends Error {
  override readonly name = 'InvalidAnswer';
}

/** The limit of a request is its signal. Node's own `fetch` ends one whose answer has not begun after 300 s. */
const unlimited = new Agent({ headersTimeout: 0, bodyTimeout: 0 });

export interface BoundedRequest {
  method?: string;
  headers?: RequestInit['headers'];
  /** Text, or bytes; the types of what client libraries pass allow more. */
  body?: RequestInit['body'];
  signal?: AbortSignal | null;
  maxBytes?: number;
}

/**
 * `fetch` that ends an answer of more than `maxBytes` with AnswerTooLarge, as the body is read. An error's body is
 * cut instead, so that its status decides what becomes of it. A redirect is an error: the server that is permitted
 * is the one that is asked. The keys of the request are in no message from here on (`sent-keys.ts`).
 */
export async function boundedFetch(
  url: string | URL,
  { maxBytes = MAX_PLAIN_ANSWER_BYTES, ...request }: BoundedRequest = {},
): Promise<Response> {
  const sent = new Headers(request.headers);
  rememberKeys(sent);
  const { body, headers, ok, status } = await fetch(url, {
    method: request.method ?? 'GET',
    headers: [...sent],
    body: request.body as BodyInit,
    signal: request.signal ?? null,
    redirect: 'error',
    dispatcher: unlimited,
  });
  // The reason phrase is left out, and a status that no Response can have is that of a broken gateway: a server may
  // answer with any.
  const kept = { status: status > MAX_STATUS ? BAD_GATEWAY : status, headers: [...headers] };
  if (body === null) return new Answer(null, kept);
  if (ok) return new Answer(body.pipeThrough(limited(maxBytes)), kept);
  return new Answer(await new Response(body.pipeThrough(cut(MAX_ERROR_BYTES))).text(), kept);
}

class Answer extends Response {
  /** @throws SyntaxError that quotes nothing: V8's quotes what stands around the fault, which can be part of a key */
  override readonly json = async (): Promise<unknown> => {
    const text = await this.text();
    try {
      return JSON.parse(text);
    } catch {
      throw new SyntaxError('the answer is not JSON');
    }
  };
}

function limited(maxBytes: number): TransformStream<Uint8Array, Uint8Array> {
  let bytes = 0;
  return new TransformStream({
    transform(part, stream) {
      bytes += part.length;
      if (bytes > maxBytes)
        stream.error(
          new AnswerTooLarge(`the answer has more than ${maxBytes} bytes, the most that was asked for`),
        );
      else stream.enqueue(part);
    },
  });
}

function cut(maxBytes: number): TransformStream<Uint8Array, Uint8Array> {
  let left = maxBytes;
  return new TransformStream({
    transform(part, stream) {
      stream.enqueue(part.subarray(0, left));
      left -= part.length;
      if (left <= 0) stream.terminate();
    },
  });
}
