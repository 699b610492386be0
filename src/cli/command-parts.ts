import type { Command } from 'commander';
import type { CliContext } from './context.ts';
import type { ExitCode } from './exit-codes.ts';

/**
 * What every command is made of; commands import their own work only when they run, so that `--help` is
 * quick.
 */
export interface CommandParts {
  program: Command;
  context: CliContext;
  exit: (code: ExitCode) => void;
}
