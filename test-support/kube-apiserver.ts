import { generateKeyPairSync } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { engineReady } from '../infra/setup/engine-steps.mjs';
import { engineFolder } from '../infra/setup/locations.mjs';
import { plainRequest } from '../src/async/plain-request.ts';
import type { PlainRequest } from '../src/async/plain-request.ts';
import { freePort } from './free-port.ts';
import { TestProcess, until } from './processes.ts';

/** Why tests on a real API server are skipped; undefined = they run. */
export const kubernetesMissing = (await engineReady('kubernetes'))
  ? undefined
  : 'the engine kubernetes is not installed: npm run engines -- kubernetes';

const startMs = 240_000;
/** Users by their tokens: the operator of the cluster, the worker of the queue gpu, and somebody without rights. */
const users = {
  admin: '"admin","1","system:masters"',
  launcher: '"system:serviceaccount:genenv:genenv-launcher","2","system:serviceaccounts"',
  nobody: '"nobody","3","system:serviceaccounts"',
};
export type ClusterUser = keyof typeof users;

/** A real API server on its own etcd. There is no controller and no kubelet: tests play both. */
export class KubeApiServer implements AsyncDisposable {
  readonly #folder = mkdtempSync(join(tmpdir(), 'kube-'));
  readonly #ports: { etcd: number; peer: number; api: number };
  readonly #etcd: TestProcess;
  #api: TestProcess;

  private constructor(ports: { etcd: number; peer: number; api: number }) {
    this.#ports = ports;
    const { privateKey, publicKey } = generateKeyPairSync('rsa', {
      modulusLength: 2048,
      publicKeyEncoding: { type: 'spki', format: 'pem' },
      privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
    });
    writeFileSync(join(this.#folder, 'accounts.key'), privateKey);
    writeFileSync(join(this.#folder, 'accounts.pub'), publicKey);
    const tokens = Object.entries(users).map(([name, user]) => `token-of-${name},${user}\n`);
    writeFileSync(join(this.#folder, 'tokens.csv'), tokens.join(''));
    const [client, peer] = [`http://127.0.0.1:${ports.etcd}`, `http://127.0.0.1:${ports.peer}`];
    this.#etcd = this.#start('etcd', [
      ...['--data-dir', join(this.#folder, 'etcd'), '--unsafe-no-fsync', '--log-level', 'error'],
      ...['--listen-client-urls', client, '--advertise-client-urls', client],
      ...['--listen-peer-urls', peer, '--initial-advertise-peer-urls', peer],
      ...['--initial-cluster', `default=${peer}`],
    ]);
    this.#api = this.#startApi();
  }

  static async start(): Promise<KubeApiServer> {
    const ports = { etcd: await freePort(), peer: await freePort(), api: await freePort() };
    const server = new KubeApiServer(ports);
    try {
      await server.ready();
      return server;
    } catch (error) {
      await server[Symbol.asyncDispose]();
      throw error;
    }
  }

  get #url(): string {
    return `https://127.0.0.1:${this.#ports.api}`;
  }

  /** Waits until it answers, with its own rights in place. */
  async ready(): Promise<void> {
    const isReady = (): Promise<boolean> => {
      this.#api.expectAlive('it was ready');
      this.#etcd.expectAlive('its API server was ready');
      return this.ask('GET', '/readyz').then(
        ({ status }) => status === 200,
        () => false,
      );
    };
    await until(isReady, startMs, 'an API server that is ready');
  }

  async killApi(): Promise<void> {
    await this.#api.stop('SIGKILL');
  }

  async restartApi(): Promise<void> {
    this.#api = this.#startApi();
    await this.ready();
  }

  /** Asks as the operator of the cluster. */
  async ask(
    method: PlainRequest['method'] | 'PUT',
    path: string,
    body?: object,
  ): Promise<{ status: number; body: unknown }> {
    const { status, text } = await plainRequest(new URL(this.#url + path), {
      method: method as PlainRequest['method'],
      headers: { authorization: 'Bearer token-of-admin', 'content-type': 'application/json' },
      ...(body && { body: JSON.stringify(body) }),
      connection: { rejectUnauthorized: false },
      timeoutMs: 30_000,
      maxBytes: 16_000_000,
    });
    return { status, body: text.startsWith('{') ? JSON.parse(text) : text };
  }

  /** @returns the path of a kubeconfig */
  kubeconfig(user: ClusterUser | 'stranger'): string {
    const file = join(this.#folder, `${user}.json`);
    const config = {
      apiVersion: 'v1',
      kind: 'Config',
      clusters: [{ name: 'c', cluster: { server: this.#url, 'insecure-skip-tls-verify': true } }],
      users: [{ name: 'u', user: { token: `token-of-${user}` } }],
      contexts: [{ name: 'test', context: { cluster: 'c', user: 'u' } }],
      'current-context': 'test',
    };
    writeFileSync(file, JSON.stringify(config));
    return file;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#api.stop('SIGKILL');
    await this.#etcd.stop('SIGKILL');
    rmSync(this.#folder, { recursive: true, force: true });
  }

  #startApi(): TestProcess {
    return this.#start('kube-apiserver', [
      ...['--etcd-servers', `http://127.0.0.1:${this.#ports.etcd}`],
      ...['--bind-address', '127.0.0.1', '--secure-port', String(this.#ports.api)],
      ...['--cert-dir', join(this.#folder, 'certificates'), '--service-cluster-ip-range', '10.0.0.0/24'],
      ...['--token-auth-file', join(this.#folder, 'tokens.csv'), '--authorization-mode', 'RBAC'],
      ...['--service-account-issuer', 'https://kubernetes.default.svc'],
      ...['--service-account-key-file', join(this.#folder, 'accounts.pub')],
      ...['--service-account-signing-key-file', join(this.#folder, 'accounts.key')],
      // A controller makes the accounts that it asks for.
      ...['--disable-admission-plugins', 'ServiceAccount'],
    ]);
  }

  #start(name: string, args: string[]): TestProcess {
    return new TestProcess(join(engineFolder('kubernetes'), 'bin', name), args, {
      env: { HOME: this.#folder, PATH: '/usr/bin:/bin', GOMAXPROCS: '2' },
      cwd: this.#folder,
      log: join(this.#folder, `${name}.log`),
    });
  }
}
