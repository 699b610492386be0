import type { SuccessCount } from '../../numerics/intervals.ts';
import {
  requireCount,
  requireFinite,
  requireInRange,
  requireInteger,
  requirePositive,
} from '../../numerics/preconditions.ts';
import type { RandomStream } from '../../numerics/random.ts';

/**
 * Indices of the `count` candidates to roll out, in rising order: those worth most, by default with the
 * largest p̃ (1 - p̃), which bounds their squared policy gradient. LILO (2502.12272) and SFL (2408.15099),
 * with a predicted p̃ in place of a measured one. A candidate without a prediction (null) has the highest
 * worth (1/4 here). `worth` is in [0, 1]. Ties are drawn, so that the order in which the simulator wrote
 * decides nothing; candidates with `usable` false come last, only if there are too few usable ones.
 */
export function selectCandidates(
  candidates: readonly { predicted: number | null; usable: boolean }[],
  count: number,
  random: RandomStream,
  worth: (predicted: number | null) => number = signalOf,
): number[] {
  requireInteger('count', count, 0);
  const scored = candidates.map(({ predicted, usable }, index) => {
    if (predicted !== null) requireInRange(`candidates[${index}].predicted`, predicted, 0, 1);
    return { index, score: (usable ? 2 : 0) + worth(predicted) };
  });
  return random
    .shuffle(scored)
    .sort((left, right) => right.score - left.score)
    .slice(0, count)
    .map(({ index }) => index)
    .sort((left, right) => left - right);
}

function signalOf(predicted: number | null): number {
  const p = predicted ?? 0.5;
  return p * (1 - p);
}

/** Outcome of a task that was rolled out. */
export type ObservedOutcome = SuccessCount & {
  epoch: number;
  kind: string;
  difficulty: number;
  /** The task's text, cut to what the predictor from texts looks at; absent without it. */
  text?: string;
};

export type PredictorSettings = {
  /** The epoch that is predicted for. */
  epoch: number;
  /** Standard deviation of the kernel, in the world's unit of difficulty. */
  bandwidth: number;
};

/** Weight of an outcome of another kind, relative to one of the same kind. */
const OTHER_KIND = 0.25;
/** Factor on an outcome's weight for each epoch of age. */
export const AGEING = 0.7;
/** Attempts that the overall rate counts as. */
const PRIOR = 1;

/**
 * Predicted success on a task without attempts, from the outcomes of similar ones: a kernel regression p̃
 * = (Σ w k + a p₀) / (Σ w n + a), w = exp(-(d_i - d)² / 2h²) x (1 for the same kind, else 1/4) x 0.7^age, p₀
 * the overall rate, a = 1 attempt (Nadaraya 1964, Watson 1964). It costs no rollout, unlike probing the
 * candidates; the idea of a cheap predictor in front of the rollouts is PCL's (2510.01135). In [0, 1]; null
 * while nothing was observed.
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
  let nearSuccesses = 0;
  let nearAttempts = 0;
  for (const [i, outcome] of outcomes.entries()) {
    requireCount(`outcomes[${i}]`, outcome);
    requireInteger(`outcomes[${i}].epoch`, outcome.epoch, 0, epoch);
    const distance = (outcome.difficulty - task.difficulty) / bandwidth;
    const kindFactor = outcome.kind === task.kind ? 1 : OTHER_KIND;
    const weight = Math.exp(-(distance ** 2) / 2) * kindFactor * AGEING ** (epoch - outcome.epoch);
    successes += outcome.successes;
    attempts += outcome.attempts;
    nearSuccesses += weight * outcome.successes;
    nearAttempts += weight * outcome.attempts;
  }
  if (attempts === 0) return null;
  return (nearSuccesses + PRIOR * (successes / attempts)) / (nearAttempts + PRIOR);
}
