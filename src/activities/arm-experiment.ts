import type { ArmRun, ArmRunInput, Comparison } from '../contracts/comparisons.ts';
import type { Experiment } from '../contracts/experiment.ts';
import type { Ports } from './ports.ts';
import { readComparison } from './read-comparison.ts';

/** The experiment file of one run of a comparison. */
export function createArmExperiment(ports: Ports) {
  return async ({ id, run }: ArmRunInput): Promise<Experiment> =>
    experimentOf(await readComparison(ports, id), run);
}

export const experimentOf = (
  { arms }: Comparison,
  { arm, seed }: Pick<ArmRun, 'arm' | 'seed'>,
): Experiment => ({ ...arms[arm]!, seed });
