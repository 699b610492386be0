/** Which process a number stands for, on this host and since when. */
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';

/** A process. The start time tells it apart from a later process with the same id. */
export interface ProcessIdentity {
  pid: number;
  started: string;
}

const onLinux = existsSync('/proc/self/stat');
/** Names a start of this machine; empty if the system has no such name. */
export const bootId = onLinux ? readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim() : '';

/** The identity of a process that runs now; null if there is none, or only a zombie. */
export function identify(pid: number): ProcessIdentity | null {
  const started = onLinux ? startedOnLinux(pid) : startedByPs(pid);
  return started === null ? null : { pid, started };
}

export const isAlive = ({ pid, started }: ProcessIdentity): boolean => identify(pid)?.started === started;

function startedOnLinux(pid: number): string | null {
  let stat: string;
  try {
    stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  } catch {
    return null;
  }
  // The name in parentheses may contain spaces. After it, the state is field 1 and the start time field 20.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const ended = fields[0] === 'Z' || fields[0] === 'X';
  return ended ? null : `${bootId}/${fields[19] ?? ''}`;
}

function startedByPs(pid: number): string | null {
  try {
    // In the time zone and language of whoever asks, the same time would be another text.
    const env = { ...process.env, TZ: 'UTC', LC_ALL: 'C' };
    const args = ['-o', 'stat=,lstart=', '-p', String(pid)];
    const line = execFileSync('ps', args, { encoding: 'utf8', env }).trim();
    return line === '' || line.startsWith('Z') ? null : line.replace(/^\S+\s+/, '');
  } catch {
    return null;
  }
}
