import { requireInRange } from './domain.ts';

/**
 * Discrimination of a task: success rate of the agent minus that of a random policy on it, in [-1, 1]; null where one
 * of them was not measured. About 0 inside the band: luck decides, and there is nothing to learn.
 */
export function discrimination(agentRate: number | null, randomRate: number | null): number | null {
  if (agentRate === null || randomRate === null) return null;
  requireInRange('agentRate', agentRate, 0, 1);
  requireInRange('randomRate', randomRate, 0, 1);
  return agentRate - randomRate;
}

/**
 * Guard on the reward of the simulator: 1 where the discrimination is above `minimum` (in [0, 1)), else 0.
 * What was not measured does not pass: a guard that opens when its evidence is missing is none.
 */
export function discriminationGate(gap: number | null, minimum = 0): 0 | 1 {
  requireInRange('minimum', minimum, 0, 1);
  if (gap === null) return 0;
  requireInRange('gap', gap, -1, 1);
  return gap > minimum ? 1 : 0;
}
