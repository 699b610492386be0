import { delimiter, join } from 'node:path';
import { engineModelFolders } from '../../infra/setup/locations.mjs';
import type { TrainerSettings } from '../config/policies.ts';
import type { Python } from '../processes/python.ts';
import type { Launcher } from '../training/launcher.ts';
import { processLauncher } from '../training/process-launcher.ts';
import { residentLauncher } from '../training/resident-launcher.ts';
import type { WorkerSettings } from './settings.ts';

/** The launcher of an experiment's training jobs, for the back ends that this worker reaches. */
export function createLaunchers(
  settings: Pick<WorkerSettings, 'trainerSocket' | 'modelFolders'>,
  python: Python,
): (trainer: TrainerSettings) => Launcher {
  const variables = {
    ...engineModelFolders(),
    GENENV_MODELS: settings.modelFolders.join(delimiter),
    PYTHONPATH: join(import.meta.dirname, '..', '..', 'trainer'),
  };
  return ({ launcher: { type } }) => {
    switch (type) {
      case 'resident':
        return residentLauncher(python, settings.trainerSocket);
      case 'process':
        return processLauncher(python, variables);
    }
  };
}
