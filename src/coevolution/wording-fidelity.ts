/**
 * Share of the simulator's wordings that were true of what happened, in [0, 1]; 1 where it worded nothing. R_env is multiplied by it, so
 * that a task whose observations the simulator words falsely earns it less. Ours: GenEnv's simulator words no feedback.
 */
export function wordingFidelity({ worded, inconsistent }: Wordings): number {
  return worded === 0 ? 1 : 1 - inconsistent / worded;
}

export interface Wordings {
  worded: number;
  inconsistent: number;
}
