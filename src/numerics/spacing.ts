import { range } from './arithmetic.ts';
import { requireInteger } from './preconditions.ts';

/**
 * Cuts the attempts at a task in two, so that an estimate from the first half is judged on the second. An odd
 * attempt goes to the second half.
 */
export function inHalves<T>(attempts: readonly T[]): { first: T[]; second: T[] } {
  const middle = Math.floor(attempts.length / 2);
  return { first: attempts.slice(0, middle), second: attempts.slice(middle) };
}

/**
 * `count` items, round robin over the classes: one of each class in turn, in the order of the classes and of
 * the items in them; all items if there are fewer. A random draw would take most tasks where success rates
 * crowd, at 0 and 1, and few between.
 */
export function spread<T>(classes: readonly (readonly T[])[], count: number): T[] {
  requireInteger('count', count, 0);
  const chosen: T[] = [];
  const maxSize = Math.max(0, ...classes.map((items) => items.length));
  for (const turn of range(maxSize)) {
    for (const items of classes) if (turn < items.length && chosen.length < count) chosen.push(items[turn]!);
  }
  return chosen;
}

/**
 * `count` integers from 0 to `last`, both included, evenly spaced up to rounding; fewer if `last` is small.
 */
export function evenlySpaced(last: number, count: number): number[] {
  requireInteger('last', last, 1);
  requireInteger('count', count, 2);
  return [...new Set(range(count).map((index) => Math.round((index * last) / (count - 1))))];
}

/**
 * `count` integers evenly spaced between 0 and `last`, without the ends if there is room; one is the middle.
 */
export function evenlyWithin(last: number, count: number): number[] {
  requireInteger('last', last, 1);
  requireInteger('count', count, 1);
  return [...new Set(range(count).map((index) => Math.round(((index + 1) * last) / (count + 1))))];
}
