import { copyFileSync, existsSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { repository, temporalPath } from '../../infra/setup/locations.mjs';
import { oneWritePartition } from '../../src/dev-stack/services/temporal-server.ts';
import { TestProcess } from '../processes.ts';
import { copyOf, databases, databaseTemplate, unused } from './database-template.ts';
import { launchServer } from './launch-server.ts';
import { Postgresql, postgresqlUser } from './postgresql.ts';
import { onPostgresql, servicePorts } from './server-config.ts';

/** A Temporal server that keeps its data when it is killed, and what a test may do to the data meanwhile. */
export interface TemporalOnDisk {
  /** Starts the server. @param settings dynamic configuration, `name=value` */
  launch(settings: readonly string[]): TestProcess;
  /** Copies the database of a server that is stopped. */
  copyDatabase(name: string): Promise<void> | void;
  /** Puts a copy in the place of the database of a server that is stopped. */
  restoreDatabase(name: string): Promise<void> | void;
  /** Puts an empty database in the place of that of a server that is stopped. */
  loseDatabase(): Promise<void> | void;
  /** All that the database of a running server holds, a character a byte. */
  contents(): Promise<string> | string;
  /** Ends what runs beside the server. */
  dispose(): Promise<void>;
  /** If its database is PostgreSQL. */
  postgresql?: Postgresql;
}

const kinds = ['dev', 'postgresql'] as const;

/**
 * The server that GENENV_TEST_TEMPORAL names: `dev` (default), the one of the Temporal CLI on a SQLite file;
 * or `postgresql`, the engines `temporal-server` and `postgresql`.
 * @param mayForget whether that of the CLI may keep its data in memory
 * @throws Error if it names another
 */
export async function temporalOnDisk(
  home: string,
  port: number,
  { mayForget = false } = {},
): Promise<TemporalOnDisk> {
  const kind = process.env.GENENV_TEST_TEMPORAL ?? 'dev';
  if (kind === 'dev') return devServer(home, port, mayForget);
  if (kind === 'postgresql') return serverOnPostgresql(home, port);
  throw new Error(`GENENV_TEST_TEMPORAL: got ${JSON.stringify(kind)}; allowed: ${kinds.join(', ')}`);
}

function devServer(home: string, port: number, inMemory: boolean): TemporalOnDisk {
  const file = join(home, 'temporal.db');
  const parts = ['', '-wal', '-shm', '-journal'];
  const remove = (): void => parts.forEach((part) => rmSync(file + part, { force: true }));
  const copy = (from: string, to: string): void => {
    for (const part of parts) if (existsSync(from + part)) copyFileSync(from + part, to + part);
  };
  return {
    launch: (settings) => {
      const flags = [oneWritePartition, ...settings].flatMap((setting) => [
        '--dynamic-config-value',
        setting,
      ]);
      const place = ['--port', String(port), ...(inMemory ? [] : ['--db-filename', file])];
      return new TestProcess(
        temporalPath(),
        ['server', 'start-dev', '--headless', ...place, '--log-level', 'error', ...flags],
        { env: process.env, cwd: repository, log: join(home, 'temporal.log') },
      );
    },
    copyDatabase: (name) => copy(file, `${file}.${name}`),
    restoreDatabase: (name) => {
      remove();
      copy(`${file}.${name}`, file);
    },
    loseDatabase: remove,
    // A part may go between the look for it and the read.
    contents: () => parts.map((part) => readIfPresent(file + part)).join(''),
    dispose: () => Promise.resolve(),
  };
}

function readIfPresent(path: string): string {
  try {
    return readFileSync(path, 'latin1');
  } catch {
    return '';
  }
}

/** Bytes of a column, as PostgreSQL's dumps write them. */
const hexInDump = /\\\\x([0-9a-f]+)/g;
const decodeHex = (_: string, bytes: string): string => Buffer.from(bytes, 'hex').toString('latin1');

async function serverOnPostgresql(home: string, port: number): Promise<TemporalOnDisk> {
  const folder = join(home, 'postgresql');
  // An earlier stack's, if the home was one.
  rmSync(folder, { recursive: true, force: true });
  const postgresql = await Postgresql.copy(await databaseTemplate(), folder);
  const ports = await servicePorts();
  const replace = (name: string, source: string): Promise<void> =>
    postgresql.sql(
      // A killed server's connections take a moment to be noticed.
      `drop database if exists ${name} with (force)`,
      `create database ${name} template ${source}`,
    );
  return {
    postgresql,
    launch: (settings) =>
      launchServer(
        home,
        { port, ports, persistence: onPostgresql(postgresql.port, postgresql.password, postgresqlUser) },
        settings,
      ),
    copyDatabase: async (copy) => {
      for (const name of databases) {
        await postgresql.sql(
          `select pg_terminate_backend(pid) from pg_stat_activity where datname = '${name}'`,
        );
        await replace(copyOf(name, copy), name);
      }
    },
    restoreDatabase: async (copy) => {
      for (const name of databases) await replace(name, copyOf(name, copy));
    },
    loseDatabase: async () => {
      for (const name of databases) await replace(name, copyOf(name, unused));
    },
    contents: async () => {
      const dump = join(home, 'database.dump');
      const texts: string[] = [];
      for (const name of databases) {
        await postgresql.command('pg_dump', '-f', dump, name);
        texts.push(readFileSync(dump, 'latin1').replace(hexInDump, decodeHex));
      }
      rmSync(dump);
      return texts.join('');
    },
    dispose: () => postgresql.stop(),
  };
}
