import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { chooseBySuccess } from '../../src/coevolution/arms/success-bin.ts';
import { randomStream } from '../../src/numerics/random.ts';

const outOf = (attempts: number, ...successes: number[]) =>
  successes.map((count) => ({ successes: count, attempts }));
const chosen = (successes: number[], target: number | null, tasks: number, seed = 1): number[] =>
  chooseBySuccess(outOf(10, ...successes), { target, tasks }, randomStream(seed)).map(
    (index) => successes[index]!,
  );

describe('choosing tasks by measured success', () => {
  it('takes those nearest to the target, the nearest first', () => {
    expect(chosen([0, 9, 5, 3, 10, 6], 0.5, 3)).toEqual([5, 6, 3]);
    expect(chosen([0, 9, 5, 3, 10, 6], 0.05, 2)).toEqual([0, 3]);
    expect(chosen([0, 9, 5, 3, 10, 6], 0.9, 2)).toEqual([9, 10]);
  });

  it('spreads them evenly over all rates without a target', () => {
    // Rates nearest to .1, .3, .5, .7 and .9, although most tasks are never solved.
    const successes = [0, 0, 0, 0, 0, 0, 0, 1, 3, 5, 7, 9, 10];
    expect(chosen(successes, null, 5)).toEqual([1, 3, 5, 7, 9]);
  });

  it('draws between tasks that are as near', () => {
    const firsts = new Set(
      Array.from(
        { length: 40 },
        (_, seed) => chooseBySuccess(outOf(10, 4, 6, 4, 6), { target: 0.5, tasks: 1 }, randomStream(seed))[0],
      ),
    );
    expect(firsts).toEqual(new Set([0, 1, 2, 3]));
  });

  it('takes each task once, all of them if there are too few, and none that is farther than one left out', () => {
    fc.assert(
      fc.property(
        fc.array(fc.integer({ min: 0, max: 8 }), { maxLength: 30 }),
        fc.option(fc.integer({ min: 0, max: 20 }).map((twentieths) => twentieths / 20)),
        fc.integer({ min: 1, max: 40 }),
        (successes, target, tasks) => {
          const measured = outOf(8, ...successes);
          const taken = chooseBySuccess(measured, { target, tasks }, randomStream(7));
          expect(new Set(taken).size).toBe(Math.min(tasks, successes.length));
          if (target === null || taken.length === successes.length) return;
          const distance = (index: number) => Math.abs(successes[index]! / 8 - target);
          const leftOut = [...successes.keys()].filter((index) => !taken.includes(index));
          expect(Math.max(...taken.map(distance))).toBeLessThanOrEqual(
            Math.min(...leftOut.map(distance)) + 1e-9,
          );
        },
      ),
    );
  });

  it('refuses what is no rate and no count', () => {
    const choose = (successes: number, attempts: number, target: number, tasks = 1) =>
      chooseBySuccess(outOf(attempts, successes), { target, tasks }, randomStream(1));
    expect(() => choose(1, 8, 1.5)).toThrow(/target/);
    expect(() => choose(9, 8, 0.5)).toThrow(/measured\[0\]\.successes/);
    expect(() => choose(0, 0, 0.5)).toThrow(/measured\[0\]\.attempts/);
    expect(() => choose(1, 8, 0.5, 0)).toThrow(/tasks/);
  });
});
