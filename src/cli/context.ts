import type { Command } from 'commander';
import { escapeControls } from '../formats/plain-text.ts';

export { homeFolder } from '../config/home-folder.ts';

/** What `genenv` exits with; `genenv --help` prints the meanings. */
export const exitCodes = {
  ok: 0,
  failed: 1,
  badInput: 2,
  stopped: 3,
  busy: 4,
  interrupted: 130,
} as const;

export type ExitCode = (typeof exitCodes)[keyof typeof exitCodes];

export const exitCodeMeanings: Record<ExitCode, string> = {
  0: 'done; an experiment is finished, or has ended at its maxTokens or at the operator’s quota',
  1: 'failed',
  2: 'bad input: an argument or the experiment file; nothing was started or written',
  3: 'the experiment was stopped, cancelled or terminated before its last epoch; the same command resumes it',
  4: 'another process uses the stack of this home folder',
  130: 'interrupted; the same command resumes it',
};

/** An error whose message is all that a person needs; no stack trace is shown. */
export class CliError extends Error {
  override readonly name = 'CliError';
  readonly exitCode: ExitCode;

  constructor(message: string, exitCode: ExitCode = exitCodes.failed) {
    super(message);
    this.exitCode = exitCode;
  }
}

/**
 * What a command is declared with. Commands import heavy modules in their actions, so that `--help` is quick.
 */
export interface CommandParts {
  program: Command;
  context: CliContext;
  exit: (code: ExitCode) => void;
}

/**
 * The world around a command: everything it reads from, or prints to, its process. What models, servers and files
 * have said is among what it prints, so nothing of it is obeyed by a terminal.
 */
export interface CliContext {
  env: NodeJS.ProcessEnv;
  /** Results. */
  print: (line: string) => void;
  /** Errors and remarks that are not results. */
  warn: (line: string) => void;
  /** Where live progress is drawn; null if plain lines are printed instead. */
  terminal: NodeJS.WriteStream | null;
}

export function processContext(): CliContext {
  const live =
    process.stdout.isTTY && process.stdout.columns > 0 && process.env.TERM !== 'dumb' && !process.env.CI;
  return {
    env: process.env,
    print: (line) => void process.stdout.write(`${escapeControls(line)}\n`),
    warn: (line) => void process.stderr.write(`${escapeControls(line)}\n`),
    terminal: live ? process.stdout : null,
  };
}
