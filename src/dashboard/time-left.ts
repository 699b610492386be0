import { sum } from '../numerics/arithmetic.ts';
import type { ArmRunLine } from './api.ts';

/** How far a run of a comparison is. */
export type RunState = Omit<ArmRunLine, 'id' | 'seed'>;

export const notStarted = (epochs: number): RunState => ({
  state: 'not started',
  isFinished: false,
  mayChange: false,
  epoch: 0,
  epochs,
  secondsLeft: null,
});

/** Seconds: the remaining epochs by the epochs a second of all active runs; at least the longest active run’s own. */
export function timeLeft(runs: readonly RunState[]): number | null {
  const remaining = ({ epoch, epochs }: RunState): number => Math.max(0, epochs - epoch);
  const active = runs.filter(({ secondsLeft }) => secondsLeft !== null && secondsLeft > 0);
  if (active.length === 0) return null;
  const pace = sum(active.map((run) => remaining(run) / run.secondsLeft!));
  const unfinished = runs.filter(({ isFinished, state }) => !isFinished && !givenUpStates.has(state));
  return Math.max(sum(unfinished.map(remaining)) / pace, ...active.map(({ secondsLeft }) => secondsLeft!));
}

/** States of runs that continue only if a user resumes them. */
const givenUpStates: ReadonlySet<string> = new Set(['failed', 'cancelled', 'terminated']);
