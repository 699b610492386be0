/** Requests of Node's HTTP client, without the headers by which a server would take them for a browser's. */
import { request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';
import type { RequestOptions } from 'node:https';
import { AnswerTooLarge } from './bounded-fetch.ts';
import { rememberKeys } from './sent-keys.ts';

export interface PlainRequest {
  method: 'GET' | 'POST' | 'DELETE';
  headers?: Record<string, string>;
  body?: string;
  /** Agent and certificates. */
  connection?: Omit<RequestOptions, 'headers'>;
  timeoutMs: number;
  maxBytes: number;
}

export interface PlainAnswer {
  status: number;
  text: string;
}

/**
 * Asks a server that refuses `fetch`, whose `Sec-Fetch-Mode` header no code can leave out. Follows no redirect. The
 * keys of the request are in no message from here on (`sent-keys.ts`).
 * @throws AnswerTooLarge; TimeoutError after `timeoutMs`, the body included; what the connection failed with
 */
export function plainRequest(url: URL, { body, ...options }: PlainRequest): Promise<PlainAnswer> {
  const { method, headers = {}, connection = {}, timeoutMs, maxBytes } = options;
  rememberKeys(new Headers(headers));
  // Node sends the body of a DELETE without its length, as if another request followed.
  const length = body === undefined ? {} : { 'content-length': String(Buffer.byteLength(body)) };
  const send = url.protocol === 'https:' ? requestHttps : requestHttp;
  return new Promise((resolve, reject) => {
    const request = send(url, {
      ...connection,
      method,
      headers: { ...headers, ...length },
      signal: AbortSignal.timeout(timeoutMs),
    });
    // The signal ends a request with an AbortError, whose cause is the signal's own.
    const fail = (error: Error): void =>
      reject(error.name === 'AbortError' && error.cause instanceof Error ? error.cause : error);
    request.once('error', fail);
    request.once('response', (response) => {
      const parts: Buffer[] = [];
      let bytes = 0;
      response.once('error', fail);
      response.on('data', (part: Buffer) => {
        bytes += part.length;
        if (bytes > maxBytes)
          request.destroy(new AnswerTooLarge(`the answer has more than ${maxBytes} bytes`));
        else parts.push(part);
      });
      response.once('end', () =>
        resolve({ status: response.statusCode ?? 0, text: Buffer.concat(parts).toString('utf8') }),
      );
    });
    request.end(body);
  });
}
