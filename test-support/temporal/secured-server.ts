import { copyFileSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { freePort } from '../free-port.ts';
import type { TestProcess } from '../processes.ts';
import { Authority } from './certificates.ts';
import type { Certificate } from './certificates.ts';
import { TokenIssuer } from './json-web-tokens.ts';
import { launchServer } from './launch-server.ts';
import { inMemory, servicePorts } from './server-config.ts';

/** How soon the server reads certificates that were replaced. */
const refreshInterval = '1s';

/** `global.tls` of a server whose certificate is read again when its file changes. */
export const frontendTls = (server: Certificate, clients: Authority | null): object => ({
  refreshInterval,
  frontend: {
    server: {
      certFile: server.certificate,
      keyFile: server.key,
      ...(clients && { requireClientAuth: true, clientCaFiles: [clients.files.certificate] }),
    },
  },
});

/**
 * A real Temporal server, in memory, that speaks TLS only and takes only clients with a certificate of its
 * authority (`mtls`), or with a token that its key set vouches for (`keys`).
 */
export class SecuredServer implements AsyncDisposable {
  readonly address: string;
  readonly authority: Authority;
  readonly tokens: TokenIssuer;
  /** What the server shows; the files may be replaced. */
  readonly certificate: Certificate;
  readonly process: TestProcess;

  private constructor(parts: Omit<SecuredServer, 'replaceCertificate' | typeof Symbol.asyncDispose>) {
    this.address = parts.address;
    this.authority = parts.authority;
    this.tokens = parts.tokens;
    this.certificate = parts.certificate;
    this.process = parts.process;
  }

  static async start(folder: string, ask: 'mtls' | 'keys'): Promise<SecuredServer> {
    mkdirSync(folder, { recursive: true });
    const authority = await Authority.create(join(folder, 'authority'));
    const certificate = await authority.issue('server');
    const tokens = new TokenIssuer();
    const keySet = join(folder, 'jwks.json');
    tokens.writeKeySet(keySet);
    const port = await freePort();
    const authorization = {
      authorizer: 'default',
      claimMapper: 'default',
      jwtKeyProvider: { keySourceURIs: [`file://${keySet}`], refreshInterval: '1m' },
    };
    const server = launchServer(folder, {
      port,
      ports: await servicePorts(),
      persistence: inMemory(),
      global: {
        tls: frontendTls(certificate, ask === 'mtls' ? authority : null),
        ...(ask === 'keys' && { authorization }),
      },
    });
    return new SecuredServer({
      address: `127.0.0.1:${port}`,
      authority,
      tokens,
      certificate,
      process: server,
    });
  }

  /** Lets the server show another certificate, for new connections. */
  replaceCertificate({ certificate, key }: Certificate): void {
    copyFileSync(key, this.certificate.key);
    copyFileSync(certificate, this.certificate.certificate);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.process.stop('SIGTERM', 5_000);
  }
}
