/** Which process a job is, and signals that reach it alone: a line of a shared file must not choose a victim. */
import { hostname } from 'node:os';
import { identify, isAlive } from '../runtime/process-identity.ts';
import type { ProcessIdentity } from '../runtime/process-identity.ts';
import type { JobProgress } from '../types/training-job.ts';

/**
 * The process that wrote a line of progress, if it runs on this host. A line without host and start time, which
 * older trainers wrote, is believed only if it names the process that was launched.
 */
export function writerOf(
  { pid, host, started }: Pick<JobProgress, 'pid' | 'host' | 'started'>,
  launched: ProcessIdentity | undefined,
): ProcessIdentity | undefined {
  if (host === undefined && started === undefined) return launched?.pid === pid ? launched : undefined;
  return host === hostname() && started !== undefined ? { pid, started } : undefined;
}

/** The process that a launcher has just started on this host. */
export const launchedProcess = (pid: number | undefined): ProcessIdentity | undefined =>
  pid === undefined ? undefined : (identify(pid) ?? undefined);

/**
 * Signals the process group of a job, which its process leads.
 * @returns whether there was such a process: not one that has the number by now, nor one of another host
 */
export function signalJob(target: ProcessIdentity | undefined, signal: NodeJS.Signals): boolean {
  if (target === undefined || !isAlive(target)) return false;
  try {
    process.kill(-target.pid, signal);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
    return false;
  }
}
