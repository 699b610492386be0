/**
 * Where requests to a model server go, and with them its key: below the root of the server, and nowhere else. How
 * long they take at most.
 */
import { boundedFetch } from '../async/bounded-fetch.ts';
import type { BoundedRequest } from '../async/bounded-fetch.ts';

/**
 * The root of the server at an address: the address without `/v1` at its end, and without a last slash. Below it
 * lie OpenAI's API (`/v1`) and, beside that, the routes of vLLM and SGLang (`/tokenize`, `/generate`).
 */
export function serverRoot(address: string): string {
  const { origin, pathname } = new URL(address);
  return `${origin}${pathname.replace(/(\/v1)?\/?$/, '')}`;
}

/**
 * `boundedFetch` for the server at an address.
 * @param timeoutMs limit of each request, to the end of its answer's body; then it rejects with a TimeoutError
 * @throws Error for a URL that is not below the root of the server; nothing is sent then
 */
export const serverFetch =
  (address: string, timeoutMs: number) =>
  async (url: string | URL | Request, request: BoundedRequest = {}): Promise<Response> => {
    const { href, origin, pathname } = new URL(url instanceof Request ? url.url : url);
    const root = serverRoot(address);
    if (!`${origin}${pathname}`.startsWith(`${root}/`))
      throw new Error(`a request to ${href}, which is not below ${root}`);
    const limit = AbortSignal.timeout(timeoutMs);
    const signal = request.signal ? AbortSignal.any([request.signal, limit]) : limit;
    return boundedFetch(url, { ...request, signal });
  };
