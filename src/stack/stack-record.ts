import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import type { ProcessIdentity } from './process-identity.ts';

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
