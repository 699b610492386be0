import { CommanderError } from 'commander';
import { CliError, exitCodes } from '../context.ts';
import type { ExitCode } from '../context.ts';
import { serverFailureText } from './server-failure-text.ts';

/** What a person can act on without a stack trace: the files of this home, or those who write them. */
const storeErrors = new Set(['StoreUnavailable', 'InvalidArtifact', 'LedgerConflict', 'Superseded']);

/** What a command says of what it threw; null if it has been said. */
export async function explainError(error: unknown): Promise<{ text: string | null; code: ExitCode }> {
  // commander has printed the problem already; help and version are not errors.
  if (error instanceof CommanderError)
    return { text: null, code: error.exitCode === 0 ? exitCodes.ok : exitCodes.badInput };
  if (!(error instanceof Error)) return { text: String(error), code: exitCodes.failed };
  const { message, name, stack = message } = error;
  if (error instanceof CliError) return { text: message, code: error.exitCode };
  if (name === 'InvalidConfig') return { text: message, code: exitCodes.badInput };
  if (name === 'StackInUse') return { text: message, code: exitCodes.busy };
  if (storeErrors.has(name)) return { text: message, code: exitCodes.failed };
  const { isServerFailure } = await import('../../temporal/server-failure.ts');
  if (!isServerFailure(error)) return { text: stack, code: exitCodes.failed };
  return { text: serverFailureText(error), code: exitCodes.failed };
}
