import { resolve } from 'node:path';

/** The world around a command: everything it reads from, or prints to, its process. */
export interface CliContext {
  env: NodeJS.ProcessEnv;
  /** Results. */
  print: (line: string) => void;
  /** Errors and what goes beside results. */
  warn: (line: string) => void;
  /** Where live progress is drawn; null where lines are printed instead. */
  terminal: NodeJS.WriteStream | null;
}

export function processContext(): CliContext {
  const live =
    process.stdout.isTTY && process.stdout.columns > 0 && process.env.TERM !== 'dumb' && !process.env.CI;
  return {
    env: process.env,
    print: (line) => void process.stdout.write(`${line}\n`),
    warn: (line) => void process.stderr.write(`${line}\n`),
    terminal: live ? process.stdout : null,
  };
}

/** Where stack, store and runs are: GENENV_HOME, or `.genenv` in the current folder. */
export const homeFolder = (env: NodeJS.ProcessEnv): string => resolve(env.GENENV_HOME ?? '.genenv');
