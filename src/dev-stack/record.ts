import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { ProcessIdentity } from './processes.ts';

export type ServiceName = 'temporal' | 'policy-server' | 'trainer' | 'worker';

/** A process that belongs to the stack. */
export interface RecordedProcess extends ProcessIdentity {
  /** Of its command, settings and source: another fingerprint, another process. */
  fingerprint: string;
}

/** Where the stack is reached. */
export interface StackAddresses {
  temporal: string;
  namespace: string;
  ui: string;
  policyServer: string;
  trainerSocket: string;
}

/** stack.json: what a later start, or another command, must know of the stack of a home. */
export interface StackRecord {
  version: 1;
  /** Who looks after the processes: a run, or `genenv up`. */
  owner: (ProcessIdentity & { command: 'run' | 'up' }) | null;
  state: 'starting' | 'ready' | 'stopped';
  addresses: StackAddresses | null;
  /** Ports that were used last, to be used again. */
  ports: Record<string, number>;
  processes: Partial<Record<ServiceName, RecordedProcess>>;
}

export const emptyRecord = (): StackRecord => ({
  version: 1,
  owner: null,
  state: 'stopped',
  addresses: null,
  ports: {},
  processes: {},
});

/** The record of a home; an empty one where there is none, or one that nobody can read. */
export function readStackRecord(path: string): StackRecord {
  try {
    const record = JSON.parse(readFileSync(path, 'utf8')) as Partial<StackRecord>;
    return record.version === 1 ? { ...emptyRecord(), ...record } : emptyRecord();
  } catch {
    return emptyRecord();
  }
}

/** Synchronous, so that there is hardly a moment in which a process runs and is not recorded. */
export function writeStackRecord(path: string, record: StackRecord): void {
  mkdirSync(dirname(path), { recursive: true });
  const temporary = `${path}.${process.pid}`;
  writeFileSync(temporary, `${JSON.stringify(record, null, 2)}\n`);
  renameSync(temporary, path);
}

export interface StackLock {
  release(): void;
}

/**
 * Takes the lock of a home's stack, or gives null where another process has it. The kernel holds it and lets
 * go of it when the process ends, however it ends: there is no stale lock. (Node has no flock; SQLite's
 * exclusive lock is one.)
 */
export function takeStackLock(path: string): StackLock | null {
  mkdirSync(dirname(path), { recursive: true });
  const database = new DatabaseSync(path, { timeout: 0 });
  try {
    database.exec('BEGIN EXCLUSIVE');
  } catch (error) {
    database.close();
    if (error instanceof Error && error.message.includes('database is locked')) return null;
    throw new Error(
      `stack lock ${path}: ${error instanceof Error ? error.message : String(error)}; remove the file when ` +
        'no stack runs',
      { cause: error },
    );
  }
  return { release: () => database.close() };
}

/** Another process looks after the stack of this home. */
export class StackInUse extends Error {
  override readonly name = 'StackInUse';
  readonly record: StackRecord;

  constructor({ home }: StackPaths, record: StackRecord) {
    const who =
      record.owner === null
        ? 'another process'
        : `\`genenv ${record.owner.command}\` (process ${record.owner.pid})`;
    super(`${who} runs the stack of ${home}; wait until it has ended, or set GENENV_HOME to another folder`);
    this.record = record;
  }
}

/** Longest path of a Unix socket that every system takes (macOS 103, Linux 107 bytes). */
const SOCKET_PATH_BYTES = 100;

export interface StackPaths {
  home: string;
  store: string;
  folder: string;
  logs: string;
  record: string;
  lock: string;
  database: string;
  /** There once the database has a complete schema. */
  databaseReady: string;
  /** Profile for the Temporal CLI and for clients that read @temporalio/envconfig. */
  profile: string;
  policyServerPort: string;
  trainerSocket: string;
}

export function stackPaths(home: string): StackPaths {
  const folder = join(home, 'stack');
  const socket = join(folder, 'trainer.sock');
  const short = join(tmpdir(), `genenv-${createHash('sha256').update(home).digest('hex').slice(0, 12)}.sock`);
  return {
    home,
    store: join(home, 'store'),
    folder,
    logs: join(folder, 'logs'),
    record: join(folder, 'stack.json'),
    lock: join(folder, 'stack.lock'),
    database: join(folder, 'temporal.db'),
    databaseReady: join(folder, 'temporal.db.ready'),
    profile: join(folder, 'temporal.toml'),
    policyServerPort: join(folder, 'policy-server.port'),
    trainerSocket: Buffer.byteLength(socket) <= SOCKET_PATH_BYTES ? socket : short,
  };
}

/**
 * Settings and source files in one short text: a process whose fingerprint differs runs something else than
 * we would start now.
 */
export function serviceFingerprint(settings: unknown, sources: readonly string[]): string {
  const hash = createHash('sha256').update(JSON.stringify(settings));
  for (const folder of sources) {
    const names = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) =>
      /\.(ts|py|json)$/.test(name),
    );
    for (const name of names.sort()) {
      const { size, mtimeMs } = statSync(join(folder, name));
      hash.update(`${name} ${size} ${mtimeMs}\n`);
    }
  }
  return hash.digest('hex').slice(0, 16);
}
