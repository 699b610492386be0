import { randomBytes } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { bearerOf, isEqualSecret, Refusal, requireHost } from '../async/refusal.ts';

export const newToken = (): string => randomBytes(24).toString('base64url');

/**
 * Who may read: a browser that opened the address with the token, which then has it in a cookie that no script
 * reads, or a program that sends it.
 */
export class Access {
  readonly #token: string;
  readonly #hosts: readonly string[];
  readonly #cookie: string;

  /** @param hosts values of the Host header that are answered, in lower case */
  constructor(token: string, hosts: readonly string[], port: number) {
    this.#token = token;
    this.#hosts = hosts;
    this.#cookie = `genenv_dashboard_${port}`;
  }

  /**
   * Whether the request may be answered. An address with the token may not: it is answered here, with a cookie and
   * the same address without it.
   * @throws Refusal 403 for another host name, 401 without the token
   */
  admit(request: IncomingMessage, url: URL, response: ServerResponse): boolean {
    requireHost(request, this.#hosts);
    const { headers, method } = request;
    if (method !== 'GET' && method !== 'HEAD')
      throw new Refusal(405, 'the dashboard only reads: expected GET');
    const presented = url.searchParams.get('token');
    if (presented !== null && isEqualSecret(presented, this.#token)) {
      url.searchParams.delete('token');
      response.setHeader(
        'set-cookie',
        `${this.#cookie}=${this.#token}; HttpOnly; SameSite=Lax; Path=/; Max-Age=2592000`,
      );
      response.writeHead(303, { location: url.pathname + url.search }).end();
      return false;
    }
    const cookies = (headers.cookie ?? '').split(/; */);
    const cookie = cookies
      .find((pair) => pair.startsWith(`${this.#cookie}=`))
      ?.slice(this.#cookie.length + 1);
    if (isEqualSecret(bearerOf(request), this.#token) || isEqualSecret(cookie ?? '', this.#token))
      return true;
    throw new Refusal(401, 'open the address that `genenv dashboard` printed: it has the token');
  }
}
