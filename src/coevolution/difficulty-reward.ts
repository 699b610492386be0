import { requireInRange, requirePositive } from '../numerics/preconditions.ts';

/** alpha: the wanted success rate, in [0, 1]. beta > 0: how fast the reward falls away from it. */
export type DifficultyTarget = { alpha: number; beta: number };

/**
 * Reward of the environment simulator for a task, or a batch of variations: R_env = exp(-β (p̂ - α)²), in (0,
 * 1]. Highest, 1, when the agent succeeds on a fraction α of its attempts. GenEnv eq. (3), α = 0.5; β is not
 * printed there (2 in the reference release). Over few rollouts it is biased low near α: p = 0.5, n = 8, β =
 * 2 gives 0.942 in the mean.
 */
export function difficultyReward(successRate: number, { alpha, beta }: DifficultyTarget): number {
  requireInRange('successRate', successRate, 0, 1);
  requireInRange('alpha', alpha, 0, 1);
  requirePositive('beta', beta);
  return Math.exp(-beta * (successRate - alpha) ** 2);
}

/**
 * Share of the simulator's wordings that were true of what happened, in [0, 1]; 1 if it worded nothing.
 * R_env is multiplied by it, so that a task whose observations the simulator words falsely earns it less.
 * Ours: GenEnv's simulator words no feedback.
 */
export function wordingFidelity({ worded, inconsistent }: Wordings): number {
  return worded === 0 ? 1 : 1 - inconsistent / worded;
}

export interface Wordings {
  worded: number;
  inconsistent: number;
}
