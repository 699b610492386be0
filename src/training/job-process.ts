/** Which process a job is, and signals that reach it alone: a line of a shared file must not choose a victim. */
import { lstat, readFile, readdir, stat } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { identify, isAlive } from '../runtime/process-identity.ts';
import type { ProcessIdentity } from '../runtime/process-identity.ts';
import { undefinedIfMissing } from '../store/errors.ts';
import type { JobProgress } from '../types/training-job.ts';

/**
 * The process that a line of progress names, if that is the job: it runs on this host, and holds the job's lock.
 * Number, host and start time alone are public, so a line can have those of any process. Undefined if the system
 * does not say what a process has locked (only Linux does).
 */
export async function writerOf(
  { pid, host, started }: Pick<JobProgress, 'pid' | 'host' | 'started'>,
  lock: string,
): Promise<ProcessIdentity | undefined> {
  if (host !== hostname() || started === undefined) return undefined;
  return (await holdsLock(pid, lock)) ? { pid, started } : undefined;
}

async function holdsLock(pid: number, lock: string): Promise<boolean> {
  const file = await undefinedIfMissing(lstat(lock, { bigint: true }));
  // Another name of a file may be a lock of another job.
  if (file?.isFile() !== true || file.nlink !== 1n) return false;
  const descriptors = await readdir(`/proc/${pid}/fd`).catch(() => []);
  for (const descriptor of descriptors) {
    const open = await stat(join(`/proc/${pid}/fd`, descriptor), { bigint: true }).catch(() => undefined);
    if (open?.ino !== file.ino || open.dev !== file.dev) continue;
    const state = await readFile(join(`/proc/${pid}/fdinfo`, descriptor), 'utf8').catch(() => '');
    if (/^lock:.* WRITE /m.test(state)) return true;
  }
  return false;
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
