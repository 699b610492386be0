import type { Experiment } from './experiment.ts';

/** Fields that `retune` may change under a run. All others decide what the run is: they take a fork. */
export const retunableFields = [
  'epochs',
  'difficulty.alpha',
  'difficulty.beta',
  'filter.kMin',
  'environment.training.lambda',
  'environment.training.learningRate',
  'environment.sampling.temperature',
  'agent.training.learningRate',
  'agent.sampling.temperature',
] as const;

/** Values of the retunable fields that are in effect: among an epoch's inputs in the ledger. Fields that this experiment has not are left out. */
export function settingsInEffect(experiment: Experiment): Record<string, number> {
  const values: Record<string, number> = {};
  for (const path of retunableFields) {
    const value = path
      .split('.')
      .reduce<unknown>((at, name) => (at as Record<string, unknown> | null | undefined)?.[name], experiment);
    if (typeof value === 'number') values[path] = value;
  }
  return values;
}
