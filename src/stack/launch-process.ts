import { spawn } from 'node:child_process';
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
import { identify } from './process-identity.ts';
import type { ProcessIdentity } from './process-identity.ts';
import type { Launch } from './service.ts';

const LOG_BYTES = 20_000_000;

export interface Launched {
  identity: ProcessIdentity;
  /** How it ended, as far as is known; for people. */
  ending(): string;
}

/**
 * Starts a process in a session of its own, with its output in a log file: neither Ctrl-C in the terminal nor the death of
 * the process that started it reaches it.
 */
export async function launchProcess(
  { command, args, env }: Launch,
  { cwd, log }: { cwd: string; log: string },
): Promise<Launched> {
  mkdirSync(dirname(log), { recursive: true });
  if (existsSync(log) && statSync(log).size > LOG_BYTES) renameSync(log, `${log}.1`);
  const output = openSync(log, 'a');
  try {
    writeSync(output, `--- ${new Date().toISOString()} ${command} ${args.join(' ')}\n`);
    const child = spawn(command, args, { cwd, env, detached: true, stdio: ['ignore', output, output] });
    await new Promise<void>((resolve, reject) => {
      child.once('spawn', resolve);
      child.once('error', (error) => reject(new Error(`${command} could not be started: ${error.message}`)));
    });
    const { pid } = child;
    if (pid === undefined) throw new Error(`${command} could not be started`);
    child.unref();
    // null: it ended before it could be looked at.
    const identity = identify(pid) ?? { pid, started: 'ended' };
    return {
      identity,
      ending: () =>
        child.signalCode !== null
          ? `ended by ${child.signalCode}`
          : child.exitCode !== null
            ? `ended with exit code ${child.exitCode}`
            : 'ended',
    };
  } finally {
    closeSync(output);
  }
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
