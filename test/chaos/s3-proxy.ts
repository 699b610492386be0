import { createServer, request as sendRequest } from 'node:http';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';

/** A write that is done and whose answer is lost; a server that is busy; a download that is cut. */
export type S3ProxyFault = 'lost' | 'busy' | 'cut';

const methodOf: Record<S3ProxyFault, readonly string[]> = {
  lost: ['PUT', 'POST', 'DELETE'],
  busy: ['GET', 'HEAD', 'PUT', 'POST', 'DELETE'],
  cut: ['GET'],
};
const BUSY = '<?xml version="1.0"?><Error><Code>SlowDown</Code><Message>Slow down</Message></Error>';

/** Between a worker and an S3 server. It changes no header, so signatures hold. */
export class S3Proxy {
  readonly endpoint: string;
  /** Requests that met a fault. */
  struck = 0;
  #faults: S3ProxyFault[] = [];
  #busyUntil = 0;
  /** The claim that waits for another host's of the same number. */
  #waitingClaim: { path: string; token: string; release: () => void } | undefined;
  #holdsNextClaim = false;
  readonly #target: URL;
  readonly #server: Server;

  private constructor(server: Server, target: string) {
    this.#server = server;
    this.#target = new URL(target);
    this.endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    server.on('request', (request, response) => void this.#pass(request, response));
  }

  static async start(target: string): Promise<S3Proxy> {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return new S3Proxy(server, target);
  }

  /** The next requests that they fit meet these faults, one each. */
  spoil(...faults: S3ProxyFault[]): void {
    this.struck = 0;
    this.#faults = faults;
  }

  /** From now on every request is refused, for so long. */
  storm(ms: number): void {
    this.#busyUntil = Date.now() + ms;
  }

  /** The next claim of a fencing token waits until another host claims the same number; then both are sent at once. */
  pairClaims(): void {
    this.struck = 0;
    this.#holdsNextClaim = true;
  }

  /** Whether a claim waits for that of another host. */
  get holdsClaim(): boolean {
    return this.#waitingClaim !== undefined;
  }

  reset(): void {
    this.spoil();
    this.#busyUntil = 0;
    this.#holdsNextClaim = false;
    this.#waitingClaim?.release();
    this.#waitingClaim = undefined;
  }

  /** Holds a claim back, or lets the one go that was held back for it. */
  async #pair(method: string, path: string, token: string): Promise<void> {
    if (method !== 'PUT' || !path.includes('/fence/')) return;
    // The same host may send its claim again.
    if (this.#waitingClaim?.path === path && this.#waitingClaim.token !== token) {
      this.#waitingClaim.release();
      this.#waitingClaim = undefined;
      this.struck += 1;
    } else if (this.#holdsNextClaim && this.#waitingClaim === undefined) {
      this.#holdsNextClaim = false;
      await new Promise<void>((release) => (this.#waitingClaim = { path, token, release }));
    }
  }

  close(): Promise<void> {
    this.#server.closeAllConnections();
    return new Promise((resolve) => this.#server.close(() => resolve()));
  }

  #faultFor(method: string): S3ProxyFault | undefined {
    if (Date.now() < this.#busyUntil) return 'busy';
    const [next] = this.#faults;
    if (next === undefined || !methodOf[next].includes(method)) return undefined;
    this.#faults.shift();
    this.struck += 1;
    return next;
  }

  async #pass(request: IncomingMessage, response: ServerResponse): Promise<void> {
    try {
      const { method = 'GET', url = '/', headers } = request;
      const body = await buffer(request);
      await this.#pair(method, url, body.toString());
      const fault = this.#faultFor(method);
      if (fault === 'busy') {
        response.writeHead(503, { 'content-type': 'application/xml' }).end(BUSY);
        return;
      }
      const answer = await this.#forward({ method, path: url, headers }, body);
      const data = await buffer(answer);
      if (fault === 'lost') {
        response.destroy();
        return;
      }
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      if (fault === 'cut') response.write(data.subarray(0, data.length >> 1), () => response.destroy());
      else response.end(method === 'HEAD' ? undefined : data);
    } catch {
      // The server is away.
      response.destroy();
    }
  }

  #forward(
    options: Pick<IncomingMessage, 'headers'> & { method: string; path: string },
    body: Buffer,
  ): Promise<IncomingMessage> {
    const { hostname, port } = this.#target;
    return new Promise((resolve, reject) => {
      const sent = sendRequest({ hostname, port, ...options }, resolve);
      sent.on('error', reject);
      sent.end(body);
    });
  }
}
