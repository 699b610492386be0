/**
 * Where requests to a model server go, and with them its key: below the root of the server, and nowhere else. What
 * they say of this process, and how long they take at most.
 */
import { boundedFetch } from '../async/bounded-fetch.ts';
import type { BoundedRequest } from '../async/bounded-fetch.ts';

/** A model server as a worker asks it. */
export interface ServerAddress {
  baseUrl: string;
  apiKey: string | undefined;
  /** Limit of each call. */
  timeoutMs: number;
}

/** All that a request says besides its key: client libraries add what they find in the environment. */
const SENT_HEADERS = ['accept', 'content-type'];

/**
 * The root of the server at an address: the address without `/v1` at its end, and without a last slash. Below it
 * lie OpenAI's API (`/v1`) and, beside that, the routes of vLLM and SGLang (`/tokenize`, `/generate`).
 */
export function serverRoot(address: string): string {
  const { origin, pathname } = new URL(address);
  return `${origin}${pathname.replace(/(\/v1)?\/?$/, '')}`;
}

/**
 * `boundedFetch` for one server, with its key. A request that has not ended after its limit, with the body of its
 * answer, rejects with a TimeoutError.
 * @throws Error for a URL that is not below the root of the server; nothing is sent then
 */
export const serverFetch =
  ({ baseUrl, apiKey, timeoutMs }: ServerAddress) =>
  async (url: string | URL, { headers, ...request }: BoundedRequest = {}): Promise<Response> => {
    const { href, origin, pathname } = new URL(url);
    const root = serverRoot(baseUrl);
    if (!`${origin}${pathname}`.startsWith(`${root}/`))
      throw new Error(`a request to ${href}, which is not below ${root}`);
    const limit = AbortSignal.timeout(timeoutMs);
    const signal = request.signal ? AbortSignal.any([request.signal, limit]) : limit;
    return boundedFetch(url, { ...request, headers: headersOf(headers, apiKey), signal });
  };

function headersOf(requested: BoundedRequest['headers'], apiKey: string | undefined): Headers {
  const sent = new Headers([...new Headers(requested)].filter(([name]) => SENT_HEADERS.includes(name)));
  if (apiKey !== undefined) sent.set('authorization', `Bearer ${apiKey}`);
  return sent;
}
