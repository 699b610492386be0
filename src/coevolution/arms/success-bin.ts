import { requireCount, requireInRange, requireInteger, ROUNDING } from '../../numerics/preconditions.ts';
import type { RandomStream } from '../../numerics/random.ts';
import type { SuccessCount } from '../../numerics/intervals.ts';

/** What chooses the tasks of a bin. */
export interface SuccessBin {
  /** Success rate p̂ = k / n that tasks are to be near, in [0, 1]; null = all rates, evenly. */
  target: number | null;
  /** Number of tasks in the bin. */
  tasks: number;
}

/**
 * Indices of the tasks whose measured success k / n is nearest to the target, the nearest first; all of them
 * if there are no more than `tasks`. Without a target the i-th of m tasks is the one nearest to the rate
 * (i + ½) / m that no earlier one took, so that success is spread evenly over (0, 1). Ties go by `random`.
 *
 * A task is taken for its luck too: success of the chosen ones in new attempts lies nearer to the mean of
 * all tasks than in the attempts that chose them (regression to the mean).
 * @throws RangeError for a target outside [0, 1], or counts that are none
 */
export function chooseBySuccess(
  measured: readonly SuccessCount[],
  { target, tasks }: SuccessBin,
  random: RandomStream,
): number[] {
  requireInteger('tasks', tasks, 1);
  if (target !== null) requireInRange('target', target, 0, 1);
  for (const [index, count] of measured.entries()) {
    requireCount(`measured[${index}]`, count);
    requireInteger(`measured[${index}].attempts`, count.attempts, 1);
  }
  const left = random.shuffle([...measured.keys()]);
  const count = Math.min(tasks, measured.length);
  return Array.from({ length: count }, (_, index) => {
    const goal = target ?? (index + 0.5) / count;
    return takeNearest(left, (candidate) => Math.abs(rateOf(measured[candidate]!) - goal));
  });
}

const rateOf = ({ successes, attempts }: SuccessCount): number => successes / attempts;

/** Takes the first of the nearest candidates out of the list. Rates are fractions: ties are exact but for rounding. */
function takeNearest(left: number[], distance: (candidate: number) => number): number {
  let nearest = 0;
  for (const place of left.keys())
    if (distance(left[place]!) < distance(left[nearest]!) - ROUNDING) nearest = place;
  return left.splice(nearest, 1)[0]!;
}
