import { expect, test } from 'vitest';
import { evenlySpaced } from '../../src/numerics/spacing.ts';
import { rankCorrelation } from '../../src/numerics/tests.ts';

test('is 1 for any rising and -1 for any falling list', () => {
  expect(rankCorrelation([1, 2, 3, 4], [1, 10, 11, 1000])).toBeCloseTo(1, 12);
  expect(rankCorrelation([1, 2, 3, 4], [9, 8, 1, -5])).toBeCloseTo(-1, 12);
});

test('gives ties their mean rank', () => {
  // Ranks 1 2 3 4 and 1 2.5 2.5 4: 4.5 / sqrt(5 × 4.5).
  expect(rankCorrelation([1, 2, 3, 4], [0, 5, 5, 9])).toBeCloseTo(4.5 / Math.sqrt(22.5), 12);
});

test('is null of nothing, of one value, and where one list does not vary', () => {
  expect([rankCorrelation([], []), rankCorrelation([1], [2]), rankCorrelation([1, 2], [3, 3])]).toEqual([
    null,
    null,
    null,
  ]);
  expect(() => rankCorrelation([1], [1, 2])).toThrow(RangeError);
});

test('evenly spaced epochs include the first and the last, and none twice', () => {
  expect(evenlySpaced(90, 4)).toEqual([0, 30, 60, 90]);
  expect(evenlySpaced(10, 4)).toEqual([0, 3, 7, 10]);
  expect(evenlySpaced(2, 10)).toEqual([0, 1, 2]);
});
