import { requireInteger } from './preconditions.ts';

/**
 * The attempts at a task cut in two: what is judged by the second half is not known from itself. An odd one
 * goes to the second.
 */
export function inHalves<T>(attempts: readonly T[]): { first: T[]; second: T[] } {
  const middle = Math.floor(attempts.length / 2);
  return { first: attempts.slice(0, middle), second: attempts.slice(middle) };
}

/**
 * `count` items, as equally many of each class as there are: one of each class in turn, in the order of the
 * classes and of the items in them, until there are enough; all of them where there are fewer. A draw at
 * random would have most tasks where success rates crowd, at 0 and 1, and say little of what lies between.
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

/**
 * `count` whole numbers from 0 to `last`, both among them, as evenly spaced as whole numbers can be; fewer
 * where there are not so many.
 */
export function evenlySpaced(last: number, count: number): number[] {
  requireInteger('last', last, 1);
  requireInteger('count', count, 2);
  return [...new Set(Array.from({ length: count }, (_, index) => Math.round((index * last) / (count - 1))))];
}

/**
 * `count` whole numbers between 0 and `last`, neither among them where there is room, evenly spaced: of one,
 * the middle.
 */
export function evenlyWithin(last: number, count: number): number[] {
  requireInteger('last', last, 1);
  requireInteger('count', count, 1);
  return [
    ...new Set(Array.from({ length: count }, (_, index) => Math.round(((index + 1) * last) / (count + 1)))),
  ];
}
