import { CommanderError } from 'commander';
import { processContext } from './context.ts';
import { CliError, exitCodes } from './exit-codes.ts';
import { createProgram } from './program.ts';

/** The genenv command. */
const context = processContext();
try {
  await createProgram(context, (code) => (process.exitCode = code)).parseAsync();
} catch (error) {
  process.exitCode = explain(error);
}
// A connection to a server that is gone would keep the process for as long as it tries.
process.exit();

function explain(error: unknown): number {
  // commander has said already what is wrong; help and version are no errors.
  if (error instanceof CommanderError) return error.exitCode === 0 ? exitCodes.ok : exitCodes.badInput;
  if (error instanceof CliError) {
    context.warn(`genenv: ${error.message}`);
    return error.exitCode;
  }
  if (error instanceof Error && error.name === 'InvalidConfig') {
    context.warn(`genenv: ${error.message}`);
    return exitCodes.badInput;
  }
  context.warn(`genenv: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`);
  return exitCodes.failed;
}
