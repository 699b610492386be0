import { createServer } from 'node:http';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** An HTTP server on a free port of this machine, whose requests a subclass answers. */
export abstract class FakeServer implements AsyncDisposable {
  readonly #server: Server;

  protected constructor() {
    this.#server = createServer((request, response) => {
      this.#handle(request, response).catch((error: unknown) =>
        response.destroy(error instanceof Error ? error : undefined),
      );
    });
  }

  protected abstract answer(url: string | undefined, body: Buffer, response: ServerResponse): void;

  protected listen(port = 0): Promise<void> {
    return new Promise<void>((resolve, reject) =>
      this.#server.once('error', reject).listen(port, '127.0.0.1', resolve),
    );
  }

  /** Without a path. */
  protected get origin(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  /** Refuses connections, as a server whose process has ended. @returns what brings it back, on the same port */
  async goAway(): Promise<() => Promise<void>> {
    const { port } = this.#server.address() as AddressInfo;
    await this[Symbol.asyncDispose]();
    return () => this.listen(port);
  }

  async #handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const parts: Buffer[] = [];
    for await (const part of request as AsyncIterable<Buffer>) parts.push(part);
    this.answer(request.url, Buffer.concat(parts), response);
  }
}
