import { setFileMask } from '../config/file-mode.ts';
import { processContext } from './context.ts';
import { explainError } from './lib/explain-error.ts';
import { createProgram } from './program.ts';

const context = processContext();
try {
  setFileMask(context.env.GENENV_UMASK);
  await createProgram(context, (code) => (process.exitCode = code)).parseAsync();
} catch (error) {
  const { text, code } = await explainError(error);
  if (text !== null) context.warn(`genenv: ${text}`);
  process.exitCode = code;
}
// A pipe takes what was printed as fast as its reader reads.
for (const stream of [process.stdout, process.stderr])
  await new Promise<void>((resolve) => stream.write('', () => resolve()));
// A connection that still retries a lost server would keep the process alive.
process.exit();
