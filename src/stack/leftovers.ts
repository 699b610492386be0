import { endProcess } from './end-process.ts';
import { markedProcesses } from './marked-processes.ts';
import { isAlive } from './process-identity.ts';
import type { ProcessIdentity } from './process-identity.ts';
import type { ServiceName, StackRecord } from './stack-record.ts';

/** Time for a training job to write its checkpoint, and for a server to close its files. */
const GRACE_SECONDS = 15;
const order: readonly ServiceName[] = ['worker', 'trainer', 'policy-server', 'temporal'];

/** Living processes of a home's stack that nobody looks after: those recorded, the worker first, then all else with its mark. */
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
