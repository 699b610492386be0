import { range } from '../../numerics/arithmetic.ts';
import type { SuccessCount } from '../../numerics/intervals.ts';
import {
  requireCount,
  requireInRange,
  requireInteger,
  requirePositive,
} from '../../numerics/preconditions.ts';

export type OracleSettings = {
  /** Success to keep, in (0, 1). */
  alpha: number;
  /** Relative change of difficulty for a success rate that is off α by one. */
  gain: number;
};

/** The difficulty of the next epoch's tasks, between two levels as a rule. */
export type OracleState = { difficulty: number };

export const openOracle = ({ start }: { start: number }): OracleState => ({ difficulty: start });

/**
 * Difficulties of `count` tasks, easiest first, whose mean is `difficulty` to 1/(2 count) of a step: those of
 * the two neighbouring levels (multiples of `step`), each as often as the mean needs.
 */
export function mixLevels(difficulty: number, step: number, count: number): number[] {
  requirePositive('difficulty', difficulty);
  requirePositive('step', step);
  requireInteger('count', count, 0);
  const lower = Math.floor(difficulty / step);
  const harder = Math.round((difficulty / step - lower) * count);
  return range(count).map((index) => step * (index < count - harder ? lower : lower + 1));
}

/**
 * The controller after an epoch: d' = d exp(gain (p̂ - α)), an integral controller in ln d, with d the mean
 * difficulty of the epoch's tasks and p̂ their success. Where p = q^d, the slope dp / d ln d at p = α is α ln α
 * whatever q is, so one gain serves all stages of training; it is stable below gain = -2 / (α ln α), 5.8 at α =
 * 0.5. As d is what was measured, not what was asked for, nothing winds up when the world has no harder or
 * easier task. Without outcomes the state stays.
 */
export function updateOracle(
  state: OracleState,
  outcomes: readonly (SuccessCount & { difficulty: number })[],
  { alpha, gain }: OracleSettings,
): OracleState {
  requireInRange('alpha', alpha, 0, 1);
  requirePositive('gain', gain);
  let [successes, attempts, weighted] = [0, 0, 0];
  for (const [i, outcome] of outcomes.entries()) {
    requireCount(`outcomes[${i}]`, outcome);
    requirePositive(`outcomes[${i}].difficulty`, outcome.difficulty);
    successes += outcome.successes;
    attempts += outcome.attempts;
    weighted += outcome.attempts * outcome.difficulty;
  }
  if (attempts === 0) return state;
  return { difficulty: (weighted / attempts) * Math.exp(gain * (successes / attempts - alpha)) };
}
