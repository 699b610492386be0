import { requireInteger } from './domain.ts';

/** `count` whole numbers from 0 to `last`, both among them, as evenly spaced as whole numbers can be; fewer where there are not so many. */
export function evenlySpaced(last: number, count: number): number[] {
  requireInteger('last', last, 1);
  requireInteger('count', count, 2);
  return [...new Set(Array.from({ length: count }, (_, index) => Math.round((index * last) / (count - 1))))];
}

/** `count` whole numbers between 0 and `last`, neither among them where there is room, evenly spaced: of one, the middle. */
export function evenlyWithin(last: number, count: number): number[] {
  requireInteger('last', last, 1);
  requireInteger('count', count, 1);
  return [
    ...new Set(Array.from({ length: count }, (_, index) => Math.round(((index + 1) * last) / (count + 1)))),
  ];
}
