import { setTimeout as sleep } from 'node:timers/promises';
import { isAlive } from './process-identity.ts';
import type { ProcessIdentity } from './process-identity.ts';

const POLL_MS = 25;

/** Sends a signal to the process and to all of its group, of which it is the leader. */
export function signalGroup({ pid }: ProcessIdentity, signal: NodeJS.Signals): void {
  try {
    process.kill(-pid, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

/** Waits until the process has ended, at most so long; false where it still runs. */
export async function ended(target: ProcessIdentity, seconds: number): Promise<boolean> {
  const until = performance.now() + seconds * 1000;
  while (isAlive(target)) {
    if (performance.now() > until) return false;
    await sleep(POLL_MS);
  }
  return true;
}

/**
 * Ends a process: SIGTERM to it alone, which it may answer in its own time, then SIGKILL to its group.
 * `hurry` cuts the time short.
 */
export async function endProcess(
  target: ProcessIdentity,
  { graceSeconds, hurry }: { graceSeconds: number; hurry?: AbortSignal },
): Promise<'ended' | 'killed'> {
  if (!isAlive(target)) return 'ended';
  process.kill(target.pid, 'SIGTERM');
  const until = performance.now() + graceSeconds * 1000;
  while (isAlive(target)) {
    if (hurry?.aborted === true || performance.now() > until) {
      signalGroup(target, 'SIGKILL');
      await ended(target, 5);
      return 'killed';
    }
    await sleep(POLL_MS);
  }
  // Its leader has ended: what is left of the group has no one to answer to.
  signalGroup(target, 'SIGKILL');
  return 'ended';
}
