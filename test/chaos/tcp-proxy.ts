import { createConnection, createServer } from 'node:net';
import type { AddressInfo, Server, Socket } from 'node:net';

/**
 * Between a worker and Temporal: cuts what is under way, so that a call may have done its work and its answer
 * is lost.
 */
export class TcpProxy {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();

  private constructor(port: number) {
    this.#server = createServer((client) => {
      const server = createConnection(port, '127.0.0.1');
      for (const [near, far] of [
        [client, server],
        [server, client],
      ] as const) {
        this.#sockets.add(near);
        near.on('error', () => far.destroy());
        near.on('close', () => {
          this.#sockets.delete(near);
          far.destroy();
        });
        near.pipe(far);
      }
    });
  }

  static async start(port: number): Promise<TcpProxy> {
    const proxy = new TcpProxy(port);
    await new Promise<void>((resolve) => proxy.#server.listen(0, '127.0.0.1', resolve));
    return proxy;
  }

  get address(): string {
    return `127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  cut(): void {
    for (const socket of this.#sockets) socket.resetAndDestroy();
  }

  async close(): Promise<void> {
    this.cut();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}
