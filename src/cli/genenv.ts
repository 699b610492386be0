import { CommanderError } from 'commander';
import { setFileMask } from '../config/file-mode.ts';
import { CliError, exitCodes, processContext } from './context.ts';
import { createProgram } from './program.ts';

const context = processContext();
try {
  setFileMask(context.env.GENENV_UMASK);
  await createProgram(context, (code) => (process.exitCode = code)).parseAsync();
} catch (error) {
  process.exitCode = explain(error);
}
// A pipe takes what was printed as fast as its reader reads.
for (const stream of [process.stdout, process.stderr])
  await new Promise<void>((resolve) => stream.write('', () => resolve()));
// A connection that still retries a lost server would keep the process alive.
process.exit();

function explain(error: unknown): number {
  // commander has printed the problem already; help and version are not errors.
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
