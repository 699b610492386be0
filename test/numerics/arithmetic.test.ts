import fc from 'fast-check';
import { expect, test } from 'vitest';
import { median } from '../../src/numerics/arithmetic.ts';

test('the median is the middle value, or the mean of the two in the middle', () => {
  expect([median([]), median([4]), median([9, 1]), median([100, 3, 2])]).toEqual([null, 4, 5, 3]);
});

test('as many values are below the median as above, whatever their order', () => {
  const values = fc.array(fc.double({ min: -1e6, max: 1e6, noNaN: true }), { minLength: 1, maxLength: 30 });
  fc.assert(
    fc.property(values, (numbers) => {
      const middle = median(numbers)!;
      const below = numbers.filter((number) => number < middle).length;
      const above = numbers.filter((number) => number > middle).length;
      expect(below).toBeLessThanOrEqual(numbers.length / 2);
      expect(above).toBeLessThanOrEqual(numbers.length / 2);
    }),
  );
});
