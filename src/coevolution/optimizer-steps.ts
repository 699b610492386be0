/**
 * Optimizer steps that `count` groups or records are cut into: `steps` if a number is set, else as many as
 * batches of at most `size` take, ⌈count / size⌉.
 */
export function stepCount(
  count: number,
  { steps, size }: { steps?: number | null | undefined; size: number },
): number {
  return steps ?? Math.ceil(count / size);
}

/** Optimizer steps of the agent over so many groups. Of the two fields, settings have one. */
export const agentSteps = (
  { stepsPerEpoch, batchSize }: { stepsPerEpoch?: number | undefined; batchSize?: number | undefined },
  groups: number,
): number => stepCount(groups, { steps: stepsPerEpoch, size: batchSize ?? Infinity });

/** The step of the item at `index` of `count`: the steps are whole, and differ in size by at most one. */
export const stepAt = (index: number, count: number, steps: number): number =>
  Math.floor((index * steps) / count);

/** Items cut into steps, in their order. No items make no step. */
export function cutIntoSteps<T>(items: readonly T[], steps: number): T[][] {
  const cut: T[][] = Array.from({ length: steps }, () => []);
  for (const [index, item] of items.entries()) cut[stepAt(index, items.length, steps)]!.push(item);
  return cut;
}
