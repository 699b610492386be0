import { requireInteger } from './domain.ts';

/**
 * `count` items, as equally many of each class as there are: one of each class in turn, in the order of the classes and of the items in
 * them, until there are enough; all of them where there are fewer. A draw at random would have most tasks where success rates
 * crowd, at 0 and 1, and say little of what lies between.
 */
export function spread<T>(classes: readonly (readonly T[])[], count: number): T[] {
  requireInteger('count', count, 0);
  const chosen: T[] = [];
  const most = Math.max(0, ...classes.map((items) => items.length));
  for (let turn = 0; turn < most; turn++) {
    for (const items of classes) if (turn < items.length && chosen.length < count) chosen.push(items[turn]!);
  }
  return chosen;
}
