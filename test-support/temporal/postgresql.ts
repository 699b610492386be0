import { randomBytes } from 'node:crypto';
import { chownSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { engineFolder, repository } from '../../infra/setup/locations.mjs';
import { run } from '../../infra/setup/run-command.mjs';
import { freePort } from '../free-port.ts';
import { TestProcess, until } from '../processes.ts';

/** PostgreSQL refuses to run as root. This user owns nothing else, and may pass through folders of root. */
const nobody = 65_534;
const asNobody = [
  'setpriv',
  `--reuid=${nobody}`,
  `--regid=${nobody}`,
  '--clear-groups',
  // For access(2), which else forgets the capability.
  '--securebits=+no_setuid_fixup',
  '--inh-caps=+dac_override',
  '--ambient-caps=+dac_override',
];
const isRoot = process.getuid?.() === 0;

/** Enough for one Temporal server and some commands, in little memory. */
const settings = {
  listen_addresses: '127.0.0.1',
  unix_socket_directories: '',
  shared_buffers: '32MB',
  max_connections: '60',
  max_wal_size: '64MB',
  // In the data folder, which goes with a server that was killed.
  dynamic_shared_memory_type: 'mmap',
};

export const postgresqlUser = 'temporal';

/** A PostgreSQL of the engine `postgresql`, on the loopback: a process that a test may kill. */
export class Postgresql {
  readonly folder: string;
  readonly port: number;
  server!: TestProcess;

  private constructor(folder: string, port: number) {
    this.folder = folder;
    this.port = port;
  }

  /** A new database cluster, with a password of its own. @param folder is made */
  static async create(folder: string): Promise<Postgresql> {
    mkdirOfServer(folder);
    const password = join(folder, 'password');
    writeFileSync(password, randomBytes(24).toString('base64url'), { mode: 0o600 });
    if (isRoot) chownSync(password, nobody, nobody);
    const access = ['-U', postgresqlUser, '-A', 'scram-sha-256', `--pwfile=${password}`];
    const [command, ...args] = asServer('initdb', '-D', join(folder, 'data'), ...access);
    await run(command!, [...args, '--no-sync', '-E', 'UTF8', '--locale=C', '--wal-segsize=1'], {
      env: libraries(),
    });
    return Postgresql.start(folder);
  }

  /** Starts a copy of a folder whose server is shut down. @param folder is made */
  static async copy(from: string, folder: string): Promise<Postgresql> {
    await run('cp', ['--archive', '--no-target-directory', from, folder]);
    return Postgresql.start(folder);
  }

  static async start(folder: string): Promise<Postgresql> {
    const postgresql = new Postgresql(folder, await freePort());
    await postgresql.restart();
    return postgresql;
  }

  get password(): string {
    return readFileSync(join(this.folder, 'password'), 'utf8');
  }

  /** Starts the server again, on its port, and waits until it answers. */
  async restart(): Promise<void> {
    const flags = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
    const [command, ...args] = asServer(
      'postgres',
      ...['-D', join(this.folder, 'data'), '-p', String(this.port)],
      ...flags,
    );
    const launch = (): TestProcess =>
      new TestProcess(command!, args, {
        env: { ...process.env, ...libraries() },
        cwd: repository,
        log: join(this.folder, 'postgresql.log'),
      });
    this.server = launch();
    const answers = async (): Promise<boolean> => {
      // What a killed server has started lives on for a moment, and holds its shared memory.
      if (!this.server.alive) {
        if (!/shared memory|lock file/.test(this.server.output))
          throw new Error(`PostgreSQL ended: ${this.server.output.slice(-2000)}`);
        this.server = launch();
      }
      return this.command('psql', '-c', 'select 1').then(
        () => true,
        () => false,
      );
    };
    await until(answers, 60_000, 'PostgreSQL');
  }

  /** Runs statements one by one. */
  async sql(...statements: string[]): Promise<void> {
    await this.command('psql', ...statements.flatMap((statement) => ['-c', statement]));
  }

  /** Runs a client program of PostgreSQL against this server. @returns what it printed */
  command(name: string, ...args: string[]): Promise<string> {
    return run(join(engineFolder('postgresql'), 'bin', name), args, { env: this.environment });
  }

  get environment(): Record<string, string> {
    return {
      ...libraries(),
      PGHOST: '127.0.0.1',
      PGPORT: String(this.port),
      PGUSER: postgresqlUser,
      PGPASSWORD: this.password,
      PGDATABASE: 'postgres',
    };
  }

  /** `SIGINT` shuts it down, `SIGQUIT` and `SIGKILL` leave it to recover. */
  stop(signal: NodeJS.Signals = 'SIGINT'): Promise<void> {
    return this.server.stop(signal);
  }
}

/** Makes a folder that the server may write. */
function mkdirOfServer(folder: string): void {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  if (isRoot) chownSync(folder, nobody, nobody);
}

const asServer = (name: string, ...args: string[]): string[] => [
  ...(isRoot ? asNobody : []),
  join(engineFolder('postgresql'), 'bin', name),
  ...args,
];

const libraries = (): Record<string, string> => ({
  LD_LIBRARY_PATH: join(engineFolder('postgresql'), 'lib'),
});
