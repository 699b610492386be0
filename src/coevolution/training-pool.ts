import { range, sum } from '../numerics/arithmetic.ts';
import { requireInRange, requireInteger } from '../numerics/preconditions.ts';
import { deriveSeed, randomStream } from '../numerics/random.ts';
import type { RandomStream } from '../numerics/random.ts';

/** D_train: the seed tasks, the valid tasks of earlier epochs (oldest first), and those of this epoch. */
export type TrainingPool<T> = { base: readonly T[]; history: readonly T[]; new: readonly T[] };

export type Source = keyof TrainingPool<unknown>;

/** Parts of the mix, each >= 0, in any unit: 1 : 1 : 2 and 25 : 25 : 50 are the same. */
export type TrainingMix = Record<Source, number>;

export type Drawn<T> = { source: Source; index: number; item: T };

const SOURCES: readonly Source[] = ['base', 'history', 'new'];

/**
 * Draws `count` tasks from D_train in a stated mix, in random order. GenEnv 2.3 samples from the accumulated
 * pool to "retain mastery of earlier curricula" and gives no ratio. Quotas are apportioned by largest
 * remainder (ties in the order base, history, new), and drawn without replacement. A source that has too
 * few passes what is missing on to the others, by their parts; a source whose part is 0 is never drawn from.
 * Only when all that may be drawn has been does a task come a second time, so that arms keep equal budgets.
 * Empty pools give no tasks.
 */
export function drawMix<T>(
  pool: TrainingPool<T>,
  mix: TrainingMix,
  count: number,
  random: RandomStream,
): Drawn<T>[] {
  requireInteger('count', count, 0);
  for (const source of SOURCES) requireInRange(`mix.${source}`, mix[source], 0, Number.MAX_VALUE);
  if (SOURCES.every((source) => mix[source] === 0))
    throw new RangeError('mix must have a part above 0, got 0 : 0 : 0');

  const usable = SOURCES.filter((source) => mix[source] > 0 && pool[source].length > 0);
  if (usable.length === 0) return [];
  const drawn: Drawn<T>[] = [];
  while (drawn.length < count) {
    const quotas = apportion(usable, mix, pool, count - drawn.length);
    for (const source of usable) {
      const order = random.shuffle([...pool[source].entries()]);
      for (const [index, item] of order.slice(0, quotas[source])) drawn.push({ source, index, item });
    }
  }
  return random.shuffle(drawn);
}

/** Quotas that add up to `count`, or to all there is when that is less. */
function apportion(
  usable: readonly Source[],
  mix: TrainingMix,
  pool: TrainingPool<unknown>,
  count: number,
): Record<Source, number> {
  const quotas: Record<Source, number> = { base: 0, history: 0, new: 0 };
  let open = usable;
  let left = count;
  while (left > 0 && open.length > 0) {
    const largestPart = Math.max(...open.map((source) => mix[source]));
    const parts = open.map((source) => mix[source] / largestPart);
    const total = sum(parts);
    const shares = open.map((source, i) => ({ source, exact: (left * (parts[i] ?? 0)) / total }));
    const short = shares.filter(({ source, exact }) => exact > pool[source].length);
    if (short.length === 0) return { ...quotas, ...roundByLargestRemainder(shares, left) };
    for (const { source } of short) {
      quotas[source] = pool[source].length;
      left -= pool[source].length;
    }
    open = open.filter((source) => !short.some((full) => full.source === source));
  }
  return quotas;
}

/** Whole quotas of sum `total`. A share at or below a source's size rounds up to at most that size. */
function roundByLargestRemainder(
  shares: readonly { source: Source; exact: number }[],
  total: number,
): Partial<Record<Source, number>> {
  const floors = shares.map(({ source, exact }) => {
    const floor = Math.floor(exact);
    return { source, floor, remainder: exact - floor };
  });
  let spare = total - sum(floors.map(({ floor }) => floor));
  const quotas: Partial<Record<Source, number>> = {};
  for (const { source, floor } of floors.toSorted((a, b) => b.remainder - a.remainder))
    quotas[source] = floor + (spare-- > 0 ? 1 : 0);
  return quotas;
}

/**
 * Indices of the tasks that an epoch draws from a data set of `size`: without replacement, in an order
 * shuffled for each pass over it, so that every task is drawn once before any is drawn again. If a pass ends
 * inside an epoch, the next one begins with tasks that this epoch has not drawn yet. Epochs are counted from
 * 1. A function of its arguments alone: nothing is carried from epoch to epoch. An empty data set gives no
 * tasks.
 */
export function poolDraw(
  size: number,
  { count, epoch, seed }: { count: number; epoch: number; seed: number },
): number[] {
  requireInteger('size', size, 0);
  requireInteger('count', count, 0);
  requireInteger('epoch', epoch, 1);
  if (size === 0) return [];
  const all = range(size);
  let left: number[] = [];
  let pass = 0;
  let drawn: number[] = [];
  for (let current = 1; current <= epoch; current++) {
    drawn = [];
    while (drawn.length < count) {
      if (left.length === 0) {
        const order = randomStream(deriveSeed(seed, 'pool-pass', pass++)).shuffle(all);
        const taken = new Set(drawn);
        left = [...order.filter((index) => !taken.has(index)), ...order.filter((index) => taken.has(index))];
      }
      drawn.push(...left.splice(0, count - drawn.length));
    }
  }
  return drawn;
}
