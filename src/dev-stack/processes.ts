import { once } from 'node:events';
import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import {
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  statSync,
  writeSync,
} from 'node:fs';
import { dirname } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { bootId, identify, isAlive } from '../runtime/process-identity.ts';
import type { ProcessIdentity } from '../runtime/process-identity.ts';

const LOG_BYTES = 20_000_000;
const EXIT_EVENT_MS = 2_000;

export interface Launched {
  identity: ProcessIdentity;
  /** How it ended, in words, as far as that is known. Waits a moment for the system to say so. */
  ending(): Promise<string>;
}

/**
 * Starts a process in a session of its own, with its output in a log file. It survives Ctrl-C in the terminal
 * and the death of its parent.
 */
export async function launchProcess(
  { command, args, env }: Launch,
  { cwd, log }: { cwd: string; log: string },
): Promise<Launched> {
  mkdirSync(dirname(log), { recursive: true });
  if (existsSync(log) && statSync(log).size > LOG_BYTES) renameSync(log, `${log}.1`);
  const output = openSync(log, 'a');
  try {
    writeHeader(output, `--- ${new Date().toISOString()} ${command} ${args.join(' ')}\n`);
    const child = spawn(command, args, { cwd, env, detached: true, stdio: ['ignore', output, output] });
    await new Promise<void>((resolve, reject) => {
      child.once('spawn', resolve);
      child.once('error', (error) => reject(new Error(`${command} could not be started: ${error.message}`)));
    });
    const { pid } = child;
    if (pid === undefined) throw new Error(`${command} could not be started`);
    child.unref();
    // null: it ended before it could be identified.
    const identity = identify(pid) ?? { pid, started: `${bootId}/ended` };
    return { identity, ending: () => endingOf(child) };
  } finally {
    closeSync(output);
  }
}

/** A full disk of logs keeps no process from being started. */
function writeHeader(log: number, header: string): void {
  try {
    writeSync(log, header);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
  }
}

async function endingOf(child: ChildProcess): Promise<string> {
  if (child.signalCode === null && child.exitCode === null)
    // A process is gone before Node hears how it ended.
    await once(child, 'exit', { signal: AbortSignal.timeout(EXIT_EVENT_MS) }).catch(() => undefined);
  const { signalCode, exitCode } = child;
  if (signalCode !== null) return `ended by ${signalCode}`;
  return exitCode === null ? 'ended' : `ended with exit code ${exitCode}`;
}

/** The end of a log file, indented. */
export function lastLogLines(log: string, count = 8): string {
  if (!existsSync(log)) return '';
  return readFileSync(log, 'utf8')
    .trimEnd()
    .split('\n')
    .slice(-count)
    .map((line) => `  | ${line.slice(0, 300)}`)
    .join('\n');
}

const POLL_MS = 25;

/** Sends a signal to the process and to all of its group, of which it is the leader. */
export function signalGroup({ pid }: ProcessIdentity, signal: NodeJS.Signals): void {
  try {
    process.kill(-pid, signal);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    // macOS says EPERM of a group whose processes have all ended and are not reaped.
    const hasEnded = code === 'ESRCH' || (code === 'EPERM' && process.platform === 'darwin');
    if (!hasEnded) throw error;
  }
}

/**
 * Whether the process, or what it started in its group, still runs: a group outlives its leader that was killed.
 * No new process gets the leader's number while the group exists.
 */
export function hasGroup(target: ProcessIdentity): boolean {
  const leader = identify(target.pid);
  if (leader !== null) return leader.started === target.started;
  // Numbers are given again after a boot.
  if (!target.started.startsWith(bootId)) return false;
  try {
    process.kill(-target.pid, 0);
    return true;
  } catch {
    return false;
  }
}

/** Waits until the process has ended; false if it still runs after that time. */
export async function waitForEnd(target: ProcessIdentity, seconds: number): Promise<boolean> {
  const until = performance.now() + seconds * 1000;
  while (isAlive(target)) {
    if (performance.now() > until) return false;
    await sleep(POLL_MS);
  }
  return true;
}

/**
 * Ends a process: SIGTERM to it alone, then SIGKILL to its group after the grace time, or once `hurry` is
 * aborted.
 */
export async function endProcess(
  target: ProcessIdentity,
  { graceSeconds, hurry }: { graceSeconds: number; hurry?: AbortSignal },
): Promise<'ended' | 'killed'> {
  if (!isAlive(target)) {
    if (hasGroup(target)) signalGroup(target, 'SIGKILL');
    return 'ended';
  }
  process.kill(target.pid, 'SIGTERM');
  const until = performance.now() + graceSeconds * 1000;
  while (isAlive(target)) {
    if (hurry?.aborted === true || performance.now() > until) {
      signalGroup(target, 'SIGKILL');
      await waitForEnd(target, 5);
      return 'killed';
    }
    await sleep(POLL_MS);
  }
  // The leader has ended: the rest of its group is not needed any more.
  signalGroup(target, 'SIGKILL');
  return 'ended';
}

export interface Launch {
  command: string;
  args: string[];
  env: Record<string, string | undefined>;
}
