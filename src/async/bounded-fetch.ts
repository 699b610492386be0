/** Requests whose answers are bounded: what a server sends is counted after decompression, as it arrives. */

/** Of an answer whose size does not follow from its request: lists of models, adapters, search results. */
const MAX_PLAIN_ANSWER_BYTES = 16_000_000;
/** What is read of an answer that is an error: enough for every message. */
const MAX_ERROR_BYTES = 64_000;

/** The answer is larger than anything that was asked for. Retried, as other answers that do not fit. */
export class AnswerTooLarge extends Error {
  override readonly name = 'InvalidAnswer';
}

export type BoundedRequest = RequestInit & { maxBytes?: number };

/**
 * `fetch` that ends an answer of more than `maxBytes` with AnswerTooLarge, as the body is read. An error's body is
 * cut instead, so that its status decides what becomes of it; keys of the request that a server repeats in it are
 * left out, since messages are made of it. A redirect is an error: the server that is permitted is the one that is
 * asked.
 */
export async function boundedFetch(
  url: string | URL | Request,
  { maxBytes = MAX_PLAIN_ANSWER_BYTES, ...init }: BoundedRequest = {},
): Promise<Response> {
  const response = await fetch(url, { ...init, redirect: 'error' });
  const { body, status, statusText, headers, ok } = response;
  if (body === null) return response;
  const kept = { status, statusText, headers };
  if (ok) return new Response(body.pipeThrough(limited(maxBytes)), kept);
  const text = await new Response(body.pipeThrough(cut(MAX_ERROR_BYTES))).text();
  return new Response(withoutKeys(text, new Headers(init.headers)), kept);
}

/** Headers that carry keys. */
const keyHeaders = ['authorization', 'x-api-key'];

function withoutKeys(text: string, headers: Headers): string {
  const keys = keyHeaders.flatMap((name) => headers.get(name)?.replace(/^Bearer /i, '') ?? []);
  return keys.filter((key) => key !== '').reduce((left, key) => left.replaceAll(key, '(key)'), text);
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
