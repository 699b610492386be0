import { expect, test } from 'vitest';
import { interpolate } from '../../src/numerics/interpolation.ts';

const curve = [
  [0, 1],
  [2, 3],
  [2, 5],
  [4, 5],
] as const;

test.each([
  [0, 1],
  [1, 2],
  [2, 5],
  [3.5, 5],
  [4, 5],
  [-0.1, null],
  [4.1, null],
])('at %d it is %j: linear, and of equal places the last counts', (place, value) => {
  expect(interpolate(curve, place)).toBe(value);
});

test('no points have no value', () => {
  expect(interpolate([], 1)).toBeNull();
});
