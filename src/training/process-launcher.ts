import { spawn } from 'node:child_process';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { TrainerUnavailable } from './launcher.ts';
import type { Launcher } from './launcher.ts';

/** One cold process a job, its own session, so that it outlives the worker. `environment` is all it inherits. */
export function processLauncher(python: string, environment: NodeJS.ProcessEnv): Launcher {
  return {
    async launch(folder) {
      await using log = await open(join(folder, 'log.txt'), 'a');
      const child = spawn(python, ['-m', 'genenv_trainer', 'job', folder], {
        detached: true,
        stdio: ['ignore', log.fd, log.fd],
        env: environment,
      });
      await new Promise<void>((resolve, reject) => {
        child.once('spawn', resolve);
        child.once('error', (cause) =>
          reject(
            new TrainerUnavailable(
              `cannot start the trainer with ${python}: ${cause.message}; run the set-up (npm start) or set GENENV_PYTHON`,
              { cause },
            ),
          ),
        );
      });
      child.unref();
    },
  };
}
