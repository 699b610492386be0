import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { join } from 'node:path';
import { repository } from '../../infra/setup/locations.mjs';

export interface Ended {
  code: number | null;
  /** Standard output. */
  out: string;
  /** Standard error. */
  err: string;
}

export interface GenenvProcess {
  child: ChildProcess;
  ended: Promise<Ended>;
  /** Standard output so far. */
  out: () => string;
}

/** The genenv command as a person runs it, in a home of its own. */
export function startGenenv(args: string[], env: Record<string, string>): GenenvProcess {
  const inherited = Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !/^(GENENV_|TEMPORAL_)/.test(name)),
  );
  const child = spawn(process.execPath, [join(repository, 'src/cli/genenv.ts'), ...args], {
    env: { ...inherited, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let out = '';
  let err = '';
  child.stdout.on('data', (data: Buffer) => (out += data.toString()));
  child.stderr.on('data', (data: Buffer) => (err += data.toString()));
  const ended = new Promise<Ended>((resolve) => child.on('close', (code) => resolve({ code, out, err })));
  return { child, ended, out: () => out };
}

export const genenv = (args: string[], env: Record<string, string>): Promise<Ended> =>
  startGenenv(args, env).ended;
