import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { identify } from './process-identity.ts';
import type { ProcessIdentity } from './process-identity.ts';

/** Environment variable that every process of a stack, and whatever it starts, carries: the home's path. */
export const STACK_MARK = 'GENENV_STACK_HOME';

/**
 * All processes of a home's stack, training jobs in sessions of their own included. Linux only; elsewhere none are found,
 * and a job that nobody looks after ends itself after its grace time.
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
