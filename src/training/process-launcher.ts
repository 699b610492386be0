import { constants } from 'node:fs';
import { join } from 'node:path';
import type { Python } from '../processes/python.ts';
import { openPlainFile } from '../store/plain-files.ts';
import { TrainerUnavailable } from './launcher.ts';
import type { Launcher } from './launcher.ts';
import { LocalLauncher } from './local-launcher.ts';

/**
 * Starts a new process for each job, in a session of its own, so that it outlives the worker.
 * @param variables that the process gets besides those of Python's processes
 */
export function processLauncher(python: Python, variables: Record<string, string>): Launcher {
  return new LocalLauncher('process', python, ({ folder }) =>
    startDetached(python, ['-m', 'genenv_trainer', 'job', folder], { folder, variables }),
  );
}

/**
 * Starts a process of Python in a session of its own, whose output goes to the job's log.
 * @throws TrainerUnavailable
 */
export async function startDetached(
  python: Python,
  args: readonly string[],
  { folder, variables }: { folder: string; variables: Record<string, string> },
): Promise<number | undefined> {
  const { O_WRONLY, O_APPEND, O_CREAT } = constants;
  await using log = await openPlainFile(join(folder, 'log.txt'), O_WRONLY | O_APPEND | O_CREAT);
  const child = python.spawn(args, { variables, detached: true, stdio: ['ignore', log.fd, log.fd] });
  await new Promise<void>((resolve, reject) => {
    child.once('spawn', resolve);
    child.once('error', (cause) =>
      reject(
        new TrainerUnavailable(
          `cannot start the trainer with ${python.path}: ${cause.message}; ` +
            `run the set-up (npm start) or set GENENV_PYTHON`,
          { cause },
        ),
      ),
    );
  });
  child.unref();
  return child.pid;
}
