import { evenlySpaced } from '../coevolution/evenly-spaced.ts';
import type { ArmRunInput, CrossPlayPlan } from '../contracts/comparisons.ts';
import { checkpointsOf } from './checkpoints-of.ts';
import type { Ports } from './ports.ts';
import { readComparison } from './read-comparison.ts';

/**
 * Which epochs of a run meet each other.
 * @throws InvalidConfig where the run has not all of them
 */
export function createPlanCrossPlay(ports: Ports) {
  return async ({ id, run }: ArmRunInput): Promise<CrossPlayPlan> => {
    const comparison = await readComparison(ports, id);
    const { checkpoints, tasks, samples } = comparison.crossPlay!;
    return {
      ...(await checkpointsOf(ports, comparison, run, (last) => evenlySpaced(last, checkpoints))),
      tasks,
      samples,
    };
  };
}
