import type { RandomStream } from '../../numerics/random.ts';

/** Attempts at one task, each solved or not, in their order. */
export type Attempts = readonly boolean[];

/** Attempts as the number of successes among the first 0, 1, … of them: those of a sample are a difference. */
export type Counts = Int32Array;

export function successesUpTo(attempts: Attempts): Counts {
  const counts = new Int32Array(attempts.length + 1);
  for (const [i, isSolved] of attempts.entries()) counts[i + 1] = counts[i]! + (isSolved ? 1 : 0);
  return counts;
}

const attemptsOf = (task: Counts): number => task.length - 1;
/** Where the second half begins, as `inHalves` has it. */
const middleOf = (task: Counts): number => Math.floor(attemptsOf(task) / 2);
/** Attempts of the second half. */
export const secondHalf = (task: Counts): number => attemptsOf(task) - middleOf(task);
/** p̂ of the first half. */
export const firstRate = (task: Counts): number => task[middleOf(task)]! / middleOf(task);

/** As many successes, at places that are drawn: each order is as likely. */
export function inDrawnOrder(task: Counts, random: RandomStream): Counts {
  const count = attemptsOf(task);
  const drawn = new Int32Array(count + 1);
  let left = task[count]!;
  for (let i = 0; i < count; i++) {
    const isSolved = random.next() * (count - i) < left;
    if (isSolved) left -= 1;
    drawn[i + 1] = drawn[i]! + (isSolved ? 1 : 0);
  }
  return drawn;
}

/** |k/n - α| of each of the disjoint samples of n attempts of the second half. */
export function distancesOfSamples(task: Counts, n: number, alpha: number): Float64Array {
  const middle = middleOf(task);
  const distances = new Float64Array(Math.floor(secondHalf(task) / n));
  for (let sample = 0; sample < distances.length; sample++) {
    const start = middle + sample * n;
    distances[sample] = Math.abs((task[start + n]! - task[start]!) / n - alpha);
  }
  return distances;
}
