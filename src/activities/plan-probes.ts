import { evenlyWithin } from '../coevolution/evenly-spaced.ts';
import type { ArmRunInput, ProbePlan } from '../contracts/comparisons.ts';
import { checkpointsOf } from './checkpoints-of.ts';
import type { Ports } from './ports.ts';
import { readComparison } from './read-comparison.ts';

/**
 * Which agents of a run are probed: neither the warm one, which has learnt nothing here, nor the last alone.
 * @throws InvalidConfig where the run has not all of the epochs
 */
export function createPlanProbes(ports: Ports) {
  return async ({ id, run }: ArmRunInput): Promise<ProbePlan> => {
    const comparison = await readComparison(ports, id);
    const { checkpoints, tasks, attempts } = comparison.probes!;
    return {
      ...(await checkpointsOf(ports, comparison, run, (last) => evenlyWithin(last, checkpoints))),
      tasks,
      attempts,
    };
  };
}
