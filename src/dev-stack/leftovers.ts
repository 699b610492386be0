import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { endProcess, identify, isAlive } from './processes.ts';
import type { ProcessIdentity } from './processes.ts';
import type { ServiceName, StackRecord } from './record.ts';

/** Time for a training job to write its checkpoint, and for a server to close its files. */
const GRACE_SECONDS = 15;
const order: readonly ServiceName[] = ['worker', 'trainer', 'policy-server', 'temporal'];

/**
 * Living processes of a home's stack that nobody looks after: those recorded, the worker first, then all else
 * with its mark.
 */
export function leftovers(home: string, { processes }: StackRecord): ProcessIdentity[] {
  const recorded = order.flatMap((name) => processes[name] ?? []);
  const pids = new Set(recorded.map(({ pid }) => pid));
  return [...recorded, ...markedProcesses(home).filter(({ pid }) => !pids.has(pid))].filter(isAlive);
}

/** Ends them: the recorded one after the other, the others together. */
export async function endLeftovers(home: string, record: StackRecord, hurry?: AbortSignal): Promise<void> {
  const how = { graceSeconds: GRACE_SECONDS, ...(hurry ? { hurry } : {}) };
  for (const name of order) {
    const process = record.processes[name];
    if (process !== undefined) await endProcess(process, how);
  }
  await Promise.all(markedProcesses(home).map((process) => endProcess(process, how)));
}

/** Environment variable that every process of a stack, and whatever it starts, carries: the home's path. */
export const STACK_MARK = 'GENENV_STACK_HOME';

/**
 * All processes of a home's stack, training jobs in sessions of their own included. Linux only; elsewhere
 * none are found, and a job that nobody looks after ends itself after its grace time.
 */
export function markedProcesses(home: string): ProcessIdentity[] {
  if (!existsSync('/proc/self/environ')) return [];
  const found: ProcessIdentity[] = [];
  for (const name of readdirSync('/proc')) {
    const pid = Number(name);
    if (!Number.isInteger(pid) || pid === process.pid || !carriesMark(pid, home)) continue;
    const identity = identify(pid);
    if (identity !== null) found.push(identity);
  }
  return found;
}

function carriesMark(pid: number, home: string): boolean {
  try {
    return `\0${readFileSync(`/proc/${pid}/environ`, 'latin1')}\0`.includes(
      `\0${Buffer.from(`${STACK_MARK}=${home}`).toString('latin1')}\0`,
    );
  } catch {
    return false;
  }
}
