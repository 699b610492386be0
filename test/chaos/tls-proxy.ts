import { readFileSync } from 'node:fs';
import { createConnection } from 'node:net';
import type { AddressInfo } from 'node:net';
import { createServer } from 'node:tls';
import type { Server, TLSSocket } from 'node:tls';
import { Authority } from '../../test-support/temporal/certificates.ts';
import type { Certificate } from '../../test-support/temporal/certificates.ts';

/** In front of Temporal, as a load balancer that ends TLS: shows a certificate, which may be replaced. */
export class TlsProxy {
  readonly authority: Authority;
  readonly #server: Server;
  readonly #sockets = new Set<TLSSocket>();

  private constructor(port: number, authority: Authority, certificate: Certificate) {
    this.authority = authority;
    this.#server = createServer({ ALPNProtocols: ['h2'], ...contentOf(certificate) }, (client) => {
      const server = createConnection(port, '127.0.0.1');
      this.#sockets.add(client);
      client.on('error', () => server.destroy());
      server.on('error', () => client.destroy());
      server.on('close', () => client.destroy());
      client.on('close', () => {
        this.#sockets.delete(client);
        server.destroy();
      });
      client.pipe(server);
      server.pipe(client);
    });
    // A client that refuses the certificate.
    this.#server.on('tlsClientError', () => undefined);
  }

  /** @param folder for keys and certificates; is made */
  static async start(port: number, folder: string): Promise<TlsProxy> {
    const authority = await Authority.create(folder);
    const proxy = new TlsProxy(port, authority, await authority.issue('server'));
    await new Promise<void>((resolve) => proxy.#server.listen(0, '127.0.0.1', resolve));
    return proxy;
  }

  /** What a worker that goes through it is started with. */
  get environment(): NodeJS.ProcessEnv {
    const { port } = this.#server.address() as AddressInfo;
    return {
      TEMPORAL_ADDRESS: `localhost:${port}`,
      TEMPORAL_TLS_SERVER_CA_CERT_PATH: this.authority.files.certificate,
    };
  }

  /** Shows another certificate from here on, and ends the connections that saw the one before. */
  show(certificate: Certificate): void {
    this.#server.setSecureContext(contentOf(certificate));
    for (const socket of this.#sockets) socket.destroy();
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}

const contentOf = ({ certificate, key }: Certificate): { cert: Buffer; key: Buffer } => ({
  cert: readFileSync(certificate),
  key: readFileSync(key),
});
