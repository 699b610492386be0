import { describe, expect, it } from 'vitest';
import { cutIntoSteps, stepAt, stepCount } from '../../src/coevolution/optimizer-steps.ts';

describe('the optimizer steps of an epoch', () => {
  it('are as many as batches of a size take, unless their number is set', () => {
    const counts = [0, 1, 63, 64, 65, 1088];
    expect(counts.map((count) => stepCount(count, { size: 64 }))).toEqual([0, 1, 1, 1, 2, 17]);
    expect(counts.map((count) => stepCount(count, { steps: null, size: 64 }))).toEqual([0, 1, 1, 1, 2, 17]);
    expect(counts.map((count) => stepCount(count, { steps: 3, size: 64 }))).toEqual([3, 3, 3, 3, 3, 3]);
  });

  it.each([1, 5, 64, 65, 130, 200])(
    'of %i items hold each once, and differ in size by at most one',
    (count) => {
      const items = Array.from({ length: count }, (_, index) => index);
      const steps = cutIntoSteps(items, stepCount(count, { size: 64 }));
      expect(steps.flat()).toEqual(items);
      const sizes = steps.map(({ length }) => length);
      expect(Math.max(...sizes)).toBeLessThanOrEqual(64);
      expect(Math.max(...sizes) - Math.min(...sizes)).toBeLessThanOrEqual(1);
      expect(items.map((index) => stepAt(index, count, steps.length))).toEqual(
        steps.flatMap((step, at) => step.map(() => at)),
      );
    },
  );

  it('may be none', () => {
    expect(cutIntoSteps([], 0)).toEqual([]);
  });
});
