import { requireInteger } from './domain.ts';
import { deriveSeed, randomStream } from './seeds.ts';

/**
 * Indices of the tasks that an epoch draws from a data set of `size`: without replacement, in an order shuffled anew for each
 * pass over it, so that every task is drawn once before any is drawn again. Where a pass ends inside an epoch, the next one
 * begins with tasks that this epoch has not drawn yet. Epochs are counted from 1. A function of its arguments alone: nothing is
 * carried from epoch to epoch. Nothing to draw from: nothing drawn.
 */
export function poolDraw(
  size: number,
  { count, epoch, seed }: { count: number; epoch: number; seed: number },
): number[] {
  requireInteger('size', size, 0);
  requireInteger('count', count, 0);
  requireInteger('epoch', epoch, 1);
  if (size === 0) return [];
  const all = Array.from({ length: size }, (_, index) => index);
  let left: number[] = [];
  let pass = 0;
  let drawn: number[] = [];
  for (let at = 1; at <= epoch; at++) {
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
