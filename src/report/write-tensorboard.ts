import { execFile } from 'node:child_process';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { RunFolder } from '../store/run-folder.ts';

const trainer = fileURLToPath(new URL('../../trainer', import.meta.url));
const patience = 120_000;

/**
 * Writes the run's metrics as TensorBoard event files, anew, with the interpreter of the trainer's environment.
 * @throws Error with what Python said
 */
export async function writeTensorboard({
  home,
  runId,
  python,
}: {
  home: string;
  runId: string;
  python: string;
}): Promise<void> {
  const { path } = new RunFolder(join(resolve(home), 'runs'), runId);
  try {
    // From the trainer's folder, where the package is found whether it is installed or not.
    await promisify(execFile)(python, ['-m', 'genenv_trainer.tensorboard_export', path], {
      cwd: trainer,
      timeout: patience,
    });
  } catch (error) {
    const { stderr, message } = error as Error & { stderr?: string };
    const said = stderr?.trim().split('\n').at(-1) ?? '';
    throw new Error(
      `Cannot write TensorBoard files of ${path}: ${said === '' ? message : said}. The run and its report are not affected.`,
      { cause: error },
    );
  }
}
