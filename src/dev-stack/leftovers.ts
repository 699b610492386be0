import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { identify, isAlive } from '../runtime/process-identity.ts';
import type { ProcessIdentity } from '../runtime/process-identity.ts';
import { endProcess, hasGroup } from './processes.ts';
import type { ServiceName, StackRecord } from './record.ts';

/** Time for a training job to write its checkpoint, and for a server to close its files. */
const GRACE_SECONDS = 15;
const END_ORDER: readonly ServiceName[] = ['worker', 'trainer', 'vllm', 'policy-server', 'temporal'];

/** Living processes that a stack left: those recorded, the worker first, then all others with its mark. */
export function leftovers(home: string, { processes }: StackRecord): ProcessIdentity[] {
  const recorded = END_ORDER.flatMap((name) => processes[name] ?? []);
  const pids = new Set(recorded.map(({ pid }) => pid));
  const marked = markedProcesses(home).filter(({ pid }) => !pids.has(pid));
  return [...recorded.filter(hasGroup), ...marked.filter(isAlive)];
}

/** Ends the recorded processes one after the other, then all others together. */
export async function endLeftovers(home: string, record: StackRecord, hurry?: AbortSignal): Promise<void> {
  const options = { graceSeconds: GRACE_SECONDS, ...(hurry ? { hurry } : {}) };
  for (const name of END_ORDER) {
    const process = record.processes[name];
    if (process !== undefined) await endProcess(process, options);
  }
  await Promise.all(markedProcesses(home).map((process) => endProcess(process, options)));
}

/** Environment variable of every process of a stack and its child processes: the home's path. */
export const STACK_MARK = 'GENENV_STACK_HOME';

/**
 * All processes of a home's stack, including training jobs in sessions of their own. Empty except on Linux;
 * a training job without an owner ends itself after its grace time.
 */
export function markedProcesses(home: string): ProcessIdentity[] {
  if (!existsSync('/proc/self/environ')) return [];
  const marked: ProcessIdentity[] = [];
  for (const name of readdirSync('/proc')) {
    const pid = Number(name);
    if (!Number.isInteger(pid) || pid === process.pid || !hasMark(pid, home)) continue;
    const identity = identify(pid);
    if (identity !== null) marked.push(identity);
  }
  return marked;
}

function hasMark(pid: number, home: string): boolean {
  try {
    const environment = readFileSync(`/proc/${pid}/environ`, 'latin1');
    const mark = Buffer.from(`${STACK_MARK}=${home}`).toString('latin1');
    return `\0${environment}\0`.includes(`\0${mark}\0`);
  } catch {
    return false;
  }
}
