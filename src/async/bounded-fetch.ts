/** Requests whose answers are bounded: what a server sends is counted after decompression, as it arrives. */
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

export type BoundedRequest = RequestInit & { maxBytes?: number };

/**
 * `fetch` that ends an answer of more than `maxBytes` with AnswerTooLarge, as the body is read. An error's body is
 * cut instead, so that its status decides what becomes of it. A redirect is an error: the server that is permitted
 * is the one that is asked. The keys of the request are in no message from here on (`sent-keys.ts`).
 */
export async function boundedFetch(
  url: string | URL | Request,
  { maxBytes = MAX_PLAIN_ANSWER_BYTES, ...init }: BoundedRequest = {},
): Promise<Response> {
  rememberKeys(new Headers(init.headers));
  const response = await fetch(url, { ...init, redirect: 'error' });
  const { body, headers, ok } = response;
  if (body === null) return response;
  // The reason phrase is left out, and a status that no Response can have is that of a broken gateway: a server may
  // answer with any.
  const kept = { status: response.status > MAX_STATUS ? BAD_GATEWAY : response.status, headers };
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
