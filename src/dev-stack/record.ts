import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { ProcessIdentity } from '../runtime/process-identity.ts';
import type { VllmSettings } from './vllm-settings.ts';

export type ServiceName = 'temporal' | 'policy-server' | 'trainer' | 'vllm' | 'worker';

/** A process that belongs to the stack. */
export interface RecordedProcess extends ProcessIdentity {
  /** Of its command, settings and source: another fingerprint, another process. */
  fingerprint: string;
}

/** The addresses of the stack's services. */
export interface StackAddresses {
  temporal: string;
  namespace: string;
  /** Null if it was not requested. */
  ui: string | null;
  /** Null if the stack was started without one. */
  policyServer: string | null;
  trainerSocket: string;
  /** Null if the stack was started without one. */
  vllm: { url: string; settings: VllmSettings } | null;
}

/** Random bearer tokens that the servers ask for. They are in the stack's record and in environments alone. */
export interface StackTokens {
  policyServer: string;
  vllm: string;
}

/** stack.json: what a later start, or another command, must know about the stack of a home. */
export interface StackRecord {
  version: 1;
  /** The process that runs the stack: a run, or `genenv up`. */
  owner: (ProcessIdentity & { command: 'run' | 'up' }) | null;
  state: 'starting' | 'ready' | 'stopped';
  addresses: StackAddresses | null;
  /** Ports that were used last, to be used again. */
  ports: Record<string, number>;
  /** Null before its first start. */
  tokens: StackTokens | null;
  trainerSocket: string | null;
  processes: Partial<Record<ServiceName, RecordedProcess>>;
}

export const emptyRecord = (): StackRecord => ({
  version: 1,
  owner: null,
  state: 'stopped',
  addresses: null,
  ports: {},
  tokens: null,
  trainerSocket: null,
  processes: {},
});

/** The record of a home; an empty one if it is missing or unreadable. */
export function readStackRecord(path: string): StackRecord {
  try {
    const record = JSON.parse(readFileSync(path, 'utf8')) as Partial<StackRecord>;
    return record.version === 1 ? { ...emptyRecord(), ...record } : emptyRecord();
  } catch {
    return emptyRecord();
  }
}

/** Synchronous, to keep the time in which a process runs unrecorded short. */
export function writeStackRecord(path: string, record: StackRecord): void {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  const temporary = `${path}.${process.pid}`;
  // It holds tokens.
  writeFileSync(temporary, `${JSON.stringify(record, null, 2)}\n`, { mode: 0o600 });
  renameSync(temporary, path);
}

export interface StackLock {
  release(): void;
}

/**
 * Takes the lock of a home's stack; null if another process has it. The kernel releases it when the process
 * ends, however it ends, so there is no stale lock. (Node has no flock; SQLite's exclusive lock serves.)
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
      `stack lock ${path}: ${error instanceof Error ? error.message : String(error)}; ` +
        'remove the file when no stack runs',
      { cause: error },
    );
  }
  return { release: () => database.close() };
}

/** Another process runs the stack of this home. */
export class StackInUse extends Error {
  override readonly name = 'StackInUse';
  readonly record: StackRecord;

  constructor({ home }: StackPaths, record: StackRecord) {
    const who =
      record.owner === null
        ? 'another process'
        : `\`genenv ${record.owner.command}\` (process ${record.owner.pid})`;
    super(
      `${who} runs the stack of ${home}; wait until it has ended, or set GENENV_HOME to another folder. A stack ` +
        'that `npx genenv up` started serves several runs at a time: each by `npx genenv run FILE`, or by ' +
        '`temporal workflow start --type experiment --task-queue genenv --workflow-id ID --input-file FILE`',
    );
    this.record = record;
  }
}

export interface StackPaths {
  home: string;
  store: string;
  folder: string;
  logs: string;
  record: string;
  lock: string;
  database: string;
  /** Exists once the database has a complete schema. */
  databaseReady: string;
  /** Profile for the Temporal CLI and for clients that read @temporalio/envconfig. */
  profile: string;
  policyServerPort: string;
}

export function stackPaths(home: string): StackPaths {
  const folder = join(home, 'stack');
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
  };
}

/**
 * A hash of settings and source files. A process with another fingerprint runs something else than a start
 * now would.
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
