import { requireCount, requireFinite, requireInteger, requirePositive } from './domain.ts';
import type { SuccessCount } from './success-rate.ts';

/** What became of a task that was rolled out. */
export type ObservedOutcome = SuccessCount & { epoch: number; kind: string; difficulty: number };

export type PredictorSettings = {
  /** The epoch that is predicted for. */
  epoch: number;
  /** Standard deviation of the kernel, in the world's unit of difficulty. */
  bandwidth: number;
};

/** What an outcome of another kind counts for, beside one of the same kind. */
const OTHER_KIND = 0.25;
/** What an outcome counts for, an epoch later. */
const AGEING = 0.7;
/** Attempts that the overall rate stands for, where nothing similar was seen. */
const PRIOR = 1;

/**
 * Success to expect of a task that nobody has tried, from what became of similar ones: a kernel regression
 * p̃ = (Σ w k + a p₀) / (Σ w n + a), w = exp(-(d_i - d)² / 2h²) x (1 for the same kind, else 1/4) x 0.7^age, p₀ the overall rate,
 * a = 1 attempt (Nadaraya 1964, Watson 1964). It costs no rollout, unlike probing the candidates; the idea of a cheap predictor
 * in front of the rollouts is PCL's (2510.01135). In [0, 1]; null while nothing was observed.
 */
export function predictedSuccess(
  task: { kind: string; difficulty: number },
  outcomes: readonly ObservedOutcome[],
  { epoch, bandwidth }: PredictorSettings,
): number | null {
  requireFinite('task.difficulty', task.difficulty);
  requirePositive('bandwidth', bandwidth);
  let successes = 0;
  let attempts = 0;
  let near = 0;
  let nearAttempts = 0;
  for (const [i, outcome] of outcomes.entries()) {
    requireCount(`outcomes[${i}]`, outcome);
    requireInteger(`outcomes[${i}].epoch`, outcome.epoch, 0, epoch);
    const distance = (outcome.difficulty - task.difficulty) / bandwidth;
    const weight =
      Math.exp(-(distance ** 2) / 2) *
      (outcome.kind === task.kind ? 1 : OTHER_KIND) *
      AGEING ** (epoch - outcome.epoch);
    successes += outcome.successes;
    attempts += outcome.attempts;
    near += weight * outcome.successes;
    nearAttempts += weight * outcome.attempts;
  }
  return attempts === 0 ? null : (near + PRIOR * (successes / attempts)) / (nearAttempts + PRIOR);
}
