import { createServer } from 'node:http';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { sha256 } from '../../src/store/canonical-json.ts';
import { faults } from '../../test-support/model-server-faults.ts';
import type { Answer, Fault } from '../../test-support/model-server-faults.ts';

/** Faults that are made before the server is asked: they cost it nothing. */
const unasked: readonly string[] = [
  'too many requests',
  'server error',
  'model not loaded',
  'stall',
] satisfies Fault[];
export type ProxyFault = Fault | 'answer lost';

/** In front of the real policy server: counts what is asked of it, and spoils some of its answers. */
export class ModelProxy {
  readonly #server: Server;
  readonly #target: string;
  readonly #requests = new Map<string, number>();
  #pending: ProxyFault[] = [];
  #struck = 0;
  /** When answers were given. */
  answers: number[] = [];

  private constructor(target: string) {
    this.#target = target;
    this.#server = createServer((request, response) => {
      this.#handle(request, response).catch(() => response.destroy());
    });
  }

  static async start(target: string): Promise<ModelProxy> {
    const proxy = new ModelProxy(target);
    await new Promise<void>((resolve) => proxy.#server.listen(0, '127.0.0.1', resolve));
    return proxy;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/v1`;
  }

  /** Forgets what was asked, and the faults still to come. */
  reset(): void {
    this.#requests.clear();
    this.#pending = [];
    this.#struck = 0;
    this.answers = [];
  }

  /** The next requests for completions meet these, in order. */
  spoil(...pending: ProxyFault[]): void {
    this.#pending.push(...pending);
  }

  get struck(): number {
    return this.#struck;
  }

  /** Requests that the server was asked more than once, counted each time but the first. */
  get repeated(): number {
    return [...this.#requests.values()].reduce((sum, times) => sum + Math.max(0, times - 1), 0);
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  async #handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await buffer(request);
    const completes = request.url?.endsWith('/completions') === true;
    const fault = completes ? this.#pending.shift() : undefined;
    if (fault !== undefined) this.#struck += 1;
    if (fault !== undefined && unasked.includes(fault)) {
      faults[fault as Fault](response, {} as Answer);
      return;
    }
    const gone = new AbortController();
    response.once('close', () => gone.abort());
    const key = sha256(body);
    const count = (by: number): void => {
      if (completes) this.#requests.set(key, (this.#requests.get(key) ?? 0) + by);
    };
    count(1);
    const answer = await fetch(this.#target.replace('/v1', '') + (request.url ?? ''), {
      method: request.method ?? 'GET',
      headers: { 'content-type': 'application/json' },
      signal: gone.signal,
      ...(body.length > 0 ? { body: new Uint8Array(body) } : {}),
    }).catch((error: unknown) => {
      // A server that is not there has not been asked.
      if ((error as { cause?: { code?: string } }).cause?.code === 'ECONNREFUSED') count(-1);
      throw error;
    });
    const text = await answer.text();
    if (fault === 'answer lost') response.destroy();
    else if (fault !== undefined && answer.ok) faults[fault](response, JSON.parse(text) as Answer);
    else
      response
        .writeHead(answer.status, {
          'content-type': answer.headers.get('content-type') ?? 'application/json',
        })
        .end(text);
    if (completes && answer.ok && fault === undefined) this.answers.push(Date.now());
  }
}
