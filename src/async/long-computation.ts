import type { TimeSlices } from './time-slices.ts';

/** A computation that stops often, at places where something else may run, and then returns its result. */
export type LongComputation<Result> = Generator<undefined, Result>;

/** Its result, at once. */
export function finishNow<Result>(computation: LongComputation<Result>): Result {
  for (;;) {
    const step = computation.next();
    if (step.done === true) return step.value;
  }
}

/**
 * Its result, in slices of time between which the process does other work.
 * @throws what `slices` throws at the end of a slice, such as the reason of a cancellation
 */
export async function finishInSlices<Result>(
  computation: LongComputation<Result>,
  slices: TimeSlices,
): Promise<Result> {
  for (;;) {
    const step = computation.next();
    if (step.done === true) return step.value;
    if (slices.isOver) await slices.next();
  }
}
