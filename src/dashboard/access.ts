import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';

/** An answer that is an error, with its status. */
export class Refusal extends Error {
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

export const newToken = (): string => randomBytes(24).toString('base64url');

/**
 * Who may read: a browser that opened the address with the token, which then has it in a cookie that no script
 * reads, or a program that sends it. Requests under another host name are refused, since a page of another site
 * can bind a name of its own to this address.
 */
export class Access {
  readonly #token: string;
  readonly #hosts: ReadonlySet<string>;
  readonly #cookie: string;

  /** @param hosts values of the Host header that are answered, in lower case */
  constructor(token: string, hosts: readonly string[], port: number) {
    this.#token = token;
    this.#hosts = new Set(hosts);
    this.#cookie = `genenv_dashboard_${port}`;
  }

  /**
   * Whether the request was answered here: an address with the token is answered with a cookie and the same
   * address without it.
   * @throws Refusal 403 for another host name, 401 without the token
   */
  admit({ headers, method }: IncomingMessage, url: URL, response: ServerResponse): boolean {
    if (!this.#hosts.has(headers.host?.toLowerCase() ?? ''))
      throw new Refusal(403, 'this host name is not allowed (--allow-host)');
    if (method !== 'GET' && method !== 'HEAD')
      throw new Refusal(405, 'the dashboard only reads: expected GET');
    const presented = url.searchParams.get('token');
    if (presented !== null && isEqual(presented, this.#token)) {
      url.searchParams.delete('token');
      response.setHeader(
        'set-cookie',
        `${this.#cookie}=${this.#token}; HttpOnly; SameSite=Strict; Path=/; Max-Age=2592000`,
      );
      response.writeHead(303, { location: url.pathname + url.search }).end();
      return true;
    }
    const [, bearer = ''] = /^Bearer +(\S+)$/i.exec(headers.authorization ?? '') ?? [];
    const cookies = (headers.cookie ?? '').split(/; */);
    const cookie = cookies
      .find((pair) => pair.startsWith(`${this.#cookie}=`))
      ?.slice(this.#cookie.length + 1);
    if (isEqual(bearer, this.#token) || isEqual(cookie ?? '', this.#token)) return false;
    throw new Refusal(401, 'open the address that `genenv dashboard` printed: it has the token');
  }
}

/** Compares in a time that says nothing about where they differ. */
const isEqual = (presented: string, expected: string): boolean =>
  timingSafeEqual(digest(presented), digest(expected));
const digest = (text: string): Buffer => createHash('sha256').update(text).digest();
