import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';

/** A process, told apart from a later one that got the same number by when it was started. */
export interface ProcessIdentity {
  pid: number;
  started: string;
}

const onLinux = existsSync('/proc/self/stat');
const boot = onLinux ? readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim() : '';

/** The identity of a process that runs now; null where there is none, or only its unreaped rest. */
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
  // The name in parentheses may hold spaces: fields count from after it (state is the first, start time the 20th).
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const ended = fields[0] === 'Z' || fields[0] === 'X';
  return ended ? null : `${boot}/${fields[19] ?? ''}`;
}

function startedByPs(pid: number): string | null {
  try {
    const line = execFileSync('ps', ['-o', 'stat=,lstart=', '-p', String(pid)], { encoding: 'utf8' }).trim();
    return line === '' || line.startsWith('Z') ? null : line.replace(/^\S+\s+/, '');
  } catch {
    return null;
  }
}
