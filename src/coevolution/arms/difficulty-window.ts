import { range } from '../../numerics/arithmetic.ts';
import type { SuccessCount } from '../../numerics/intervals.ts';
import {
  requireCount,
  requireInRange,
  requireInteger,
  requirePositive,
} from '../../numerics/preconditions.ts';
import type { RandomStream } from '../../numerics/random.ts';

export type WindowSettings = {
  start: number;
  raiseAt: number;
  /** Absent = the hardest level never falls. */
  lowerAt?: number | undefined;
  step: number;
  levels: number;
  /** Attempts at the hardest level before it is judged. */
  minAttempts: number;
};

/** The hardest level that is open, and what was counted there since it opened or was last judged. */
export type WindowState = SuccessCount & { hardest: number };

export const openWindow = ({ start }: WindowSettings): WindowState => ({
  hardest: start,
  successes: 0,
  attempts: 0,
});

/** The levels that are open, easiest first: `levels` of them up to the hardest, none below the start. */
export function windowLevels({ hardest }: WindowState, { start, step, levels }: WindowSettings): number[] {
  requirePositive('step', step);
  requireInteger('levels', levels, 1);
  const candidates = range(levels).map((index) => hardest - index * step);
  return candidates.filter((level) => level > start - step / 2).toReversed();
}

/** Levels for `count` tasks, evenly over those that are open, in random order. */
export function drawLevels(levels: readonly number[], count: number, random: RandomStream): number[] {
  return random.shuffle(range(count).map((index) => levels[index % levels.length]!));
}

/**
 * The window after an epoch: once the hardest level has seen `minAttempts`, it is judged, and the next one
 * opens if success is at least `raiseAt`. It closes if success is below `lowerAt`, unless it is the start;
 * without `lowerAt` it never does. RLVE (2511.07317): raise at 0.9 over 8 groups, keep four levels; `raiseAt`
 * 0.5 keeps the hardest level at that success instead. A curriculum that is set by hand: whoever sets it must
 * know what makes a task hard, which the simulator has to find out.
 */
export function updateWindow(
  state: WindowState,
  outcomes: readonly (SuccessCount & { difficulty: number })[],
  { start, raiseAt, lowerAt = 0, step, minAttempts }: WindowSettings,
): WindowState {
  requireInRange('raiseAt', raiseAt, 0, 1);
  let { successes, attempts } = state;
  for (const [i, outcome] of outcomes.entries()) {
    requireCount(`outcomes[${i}]`, outcome);
    // The world may have missed the requested level by a little.
    if (Math.abs(outcome.difficulty - state.hardest) >= step / 2) continue;
    successes += outcome.successes;
    attempts += outcome.attempts;
  }
  if (attempts < minAttempts) return { hardest: state.hardest, successes, attempts };
  const success = successes / attempts;
  if (success >= raiseAt) return { hardest: state.hardest + step, successes: 0, attempts: 0 };
  const lowered = success < lowerAt ? Math.max(start, state.hardest - step) : state.hardest;
  return { hardest: lowered, successes: 0, attempts: 0 };
}
