import { delimiter, join } from 'node:path';
import { engineModelFolders } from '../../infra/setup/locations.mjs';
import { readKubernetes } from '../config/kubernetes.ts';
import type { TrainerSettings } from '../config/policies.ts';
import type { ResolveServers } from '../inference/endpoints.ts';
import type { Python } from '../processes/python.ts';
import type { Launcher } from '../training/launcher.ts';
import { processLauncher } from '../training/process-launcher.ts';
import { KubernetesLauncher } from '../training/kubernetes-launcher.ts';
import { RayLauncher } from '../training/ray-launcher.ts';
import { residentLauncher } from '../training/resident-launcher.ts';
import { SlurmLauncher } from '../training/slurm-launcher.ts';
import { jobArguments, torchrunLauncher } from '../training/torchrun-launcher.ts';
import type { WorkerSettings } from './settings.ts';

/** The launcher of an experiment's training jobs, for the back ends that this worker reaches. */
export function createLaunchers(
  settings: Pick<WorkerSettings, 'trainerSocket' | 'modelFolders' | 'slurmArguments' | 'kubernetes'>,
  python: Python,
  resolveServers: ResolveServers,
): (trainer: TrainerSettings) => Launcher {
  const variables = {
    ...engineModelFolders(),
    GENENV_MODELS: settings.modelFolders.join(delimiter),
    PYTHONPATH: join(import.meta.dirname, '..', '..', 'trainer'),
  };
  return ({ launcher, processes = 1, threads }) => {
    switch (launcher.type) {
      case 'resident':
        return residentLauncher(python, settings.trainerSocket);
      case 'process':
        return processLauncher(python, variables);
      case 'torchrun':
        return torchrunLauncher(python, variables, processes);
      case 'ray': {
        const { cpus, gpus } = launcher;
        return new RayLauncher(
          () => resolveServers(launcher)[0]!,
          { cpus, gpus },
          (folder) => ({
            words: [python.path, '-m', 'genenv_trainer', 'job', folder],
            variables: { ...variables, PYTHONSAFEPATH: '1' },
          }),
        );
      }
      case 'kubernetes':
        return new KubernetesLauncher(() => readKubernetes(settings.kubernetes), {
          processes,
          variables: { GENENV_MODELS: variables.GENENV_MODELS, PYTHONSAFEPATH: '1' },
        });
      case 'slurm':
        return new SlurmLauncher({
          settings: launcher,
          operatorArguments: settings.slurmArguments,
          cpus: threads * processes,
          command: (submission) => {
            const { command, args, env } = python.start(jobArguments(submission, processes), variables);
            return { words: [command, ...args], env };
          },
        });
    }
  };
}
