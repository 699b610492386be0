import { createHash, randomUUID } from 'node:crypto';
import { existsSync, rmSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { Connection } from '@temporalio/client';
import { directIfLocal } from '../../temporal/direct-connection.ts';
import { choosePort } from '../ports.ts';
import type { Launch } from '../processes.ts';
import { serviceFingerprint } from '../record.ts';
import type { StackPaths } from '../record.ts';
import type { Service } from '../supervised-service.ts';

const NAMESPACE = 'default';
/** The dev server keeps closed workflows for a day only; yesterday's crash must still be there. */
const RETENTION_SECONDS = 60 * 24 * 3600;
/**
 * A worker with few slots polls one of a queue's four partitions, and a task in another partition waited two
 * seconds or more. So all new tasks go to the first; tasks that an older server left in the others are still
 * read.
 */
export const oneWritePartition = 'matching.numTaskqueueWritePartitions=1';
/**
 * The dev server always opens an HTTP API, which takes requests of any web page: from any origin, to any host
 * that is allowed. None is: the name is new at each start, so that nobody can point it at the loopback, and
 * nothing here uses that API.
 */
const closedHttpApi = (): string => `frontend.httpAllowedHosts=["${randomUUID()}.invalid"]`;

/**
 * An empty namespace that the server of this home alone has. The server of another home may have been started at the
 * same moment on the same port: its answers are not those of this one.
 */
const ownNamespace = ({ home }: StackPaths): string =>
  `stack-${createHash('sha256')
    .update(JSON.stringify([hostname(), home]))
    .digest('hex')
    .slice(0, 16)}`;

/**
 * Temporal's dev server on a SQLite file. Its UI, which answers any host that a web page has pointed at the
 * loopback, runs only on request.
 */
export class TemporalServer implements Service {
  readonly name = 'temporal';
  readonly title = 'Temporal server';
  readonly readySeconds = 60;
  readonly graceSeconds = 10;
  readonly namespace = NAMESPACE;
  readonly #executable: string;
  readonly #paths: StackPaths;
  readonly #env: Record<string, string | undefined>;
  readonly #hasUi: boolean;
  #ports: { temporal: number; ui: number };
  #pinned = false;

  constructor(
    executable: string,
    paths: StackPaths,
    env: Record<string, string | undefined>,
    { ports, hasUi }: { ports: Record<string, number>; hasUi: boolean },
  ) {
    this.#executable = executable;
    this.#paths = paths;
    this.#env = env;
    this.#hasUi = hasUi;
    this.#ports = { temporal: ports.temporal ?? 7233, ui: ports.ui ?? 8233 };
  }

  get address(): string {
    return `127.0.0.1:${this.#ports.temporal}`;
  }
  get ui(): string | null {
    return this.#hasUi ? `http://127.0.0.1:${this.#ports.ui}` : null;
  }
  ports(): Record<string, number> {
    return this.#ports;
  }
  fingerprint(): string {
    return serviceFingerprint([this.#executable, this.#paths.database, String(this.#hasUi)], []);
  }

  async launch(): Promise<Launch> {
    if (!this.#pinned) {
      const temporal = await choosePort([this.#ports.temporal, 7233]);
      this.#ports = { temporal, ui: await choosePort([this.#ports.ui, 8233]) };
    }
    // A server that was killed while it created the schema leaves a file that no server can open.
    if (!existsSync(this.#paths.databaseReady))
      for (const suffix of ['', '-wal', '-shm', '-journal'])
        rmSync(this.#paths.database + suffix, { force: true });
    const flags = {
      '--ip': '127.0.0.1',
      '--port': String(this.#ports.temporal),
      '--db-filename': this.#paths.database,
      '--log-level': 'warn',
      '--namespace': ownNamespace(this.#paths),
    };
    // WAL and NORMAL: a killed server loses nothing; a power cut may lose the last moments, which the ledger
    // restores.
    const pragmas = ['journal_mode=wal', 'synchronous=normal'].flatMap((pragma) => [
      '--sqlite-pragma',
      pragma,
    ]);
    return {
      command: this.#executable,
      args: [
        'server',
        'start-dev',
        ...Object.entries(flags).flat(),
        ...(this.#hasUi ? ['--ui-port', String(this.#ports.ui)] : ['--headless']),
        ...pragmas,
        ...[oneWritePartition, closedHttpApi()].flatMap((value) => ['--dynamic-config-value', value]),
      ],
      env: this.#env,
    };
  }

  async answers(): Promise<boolean> {
    await this.#call((service) => service.describeNamespace({ namespace: ownNamespace(this.#paths) }));
    return true;
  }

  async prepare(): Promise<void> {
    this.#pinned = true;
    writeFileSync(this.#paths.databaseReady, '');
    const config = { workflowExecutionRetentionTtl: { seconds: RETENTION_SECONDS } } as object;
    await this.#call((service) => service.updateNamespace({ namespace: NAMESPACE, config }));
    // For `TEMPORAL_CONFIG_FILE=… temporal workflow list`, and for any client that reads profiles.
    writeFileSync(
      this.#paths.profile,
      `[profile.default]\naddress = "${this.address}"\nnamespace = "${NAMESPACE}"\n`,
    );
  }

  async #call(request: (service: Connection['workflowService']) => Promise<unknown>): Promise<void> {
    const connection = await Connection.connect(
      directIfLocal({ address: this.address, connectTimeout: '2s' }),
    );
    try {
      await connection.withDeadline(Date.now() + 5_000, () => request(connection.workflowService));
    } finally {
      await connection.close();
    }
  }
}
