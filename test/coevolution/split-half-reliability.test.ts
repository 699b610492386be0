import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { splitHalfReliability } from '../../src/coevolution/diagnostics.ts';
import { randomStream } from '../../src/numerics/random.ts';

describe('splitHalfReliability', () => {
  it('is Spearman-Brown over the halves by parity', () => {
    // Even halves 0, 0.5, 1 and odd halves 0, 1, 0.5; deviations -.5 0 .5 and -.5 .5 0:
    // r = 0.25 / 0.5 = 0.5; 2 * 0.5 / 1.5 = 2/3.
    expect(
      splitHalfReliability([
        [0, 0, 0, 0],
        [1, 1, 0, 1],
        [1, 1, 1, 0],
      ]),
    ).toBeCloseTo(2 / 3, 12);
    expect(
      splitHalfReliability([
        [0, 0],
        [1, 1],
      ]),
    ).toBeCloseTo(1, 12);
    // Even 0, 0.5, 1 and odd 0.5, 1, 0: deviations -.5 0 .5 and 0 .5 -.5: r = -0.25 / 0.5 = -0.5; -1 / 0.5 =
    // -2.
    expect(
      splitHalfReliability([
        [0, 1, 0, 0],
        [1, 1, 0, 1],
        [1, 0, 1, 0],
      ]),
    ).toBeCloseTo(-2, 12);
  });

  it('is null where it is undefined', () => {
    expect(splitHalfReliability([])).toBeNull();
    expect(splitHalfReliability([[1, 0, 1, 0]])).toBeNull();
    expect(splitHalfReliability([[1], [0], []])).toBeNull();
    expect(
      splitHalfReliability([
        [1, 0],
        [1, 0],
      ]),
    ).toBeNull();
    // The mean of three tasks at 0.1 is 0.10000000000000002: a spread of rounding errors is none.
    expect(
      splitHalfReliability([
        [0.1, 0],
        [0.1, 1],
        [0.1, 1],
      ]),
    ).toBeNull();
    expect(
      splitHalfReliability([
        [0, 0.1],
        [1, 0.1],
        [1, 0.1],
      ]),
    ).toBeNull();
    // One half alike in all tasks; r = -1.
    expect(
      splitHalfReliability([
        [0, 0, 0, 0],
        [1, 0, 0, 0],
        [0, 0, 1, 0],
      ]),
    ).toBeNull();
    expect(
      splitHalfReliability([
        [1, 0],
        [0, 1],
      ]),
    ).toBeNull();
  });

  it('tells tasks that differ from coins', () => {
    const stream = randomStream(11);
    const attempts = (p: number) => Array.from({ length: 8 }, () => (stream.next() < p ? 1 : 0));
    const differing = Array.from({ length: 200 }, (_, i) => attempts(i % 2 === 0 ? 0.1 : 0.9));
    const coins = Array.from({ length: 200 }, () => attempts(0.5));
    expect(splitHalfReliability(differing)).toBeGreaterThan(0.9);
    expect(Math.abs(splitHalfReliability(coins) ?? NaN)).toBeLessThan(0.25);
  });

  it('is at most 1, and does not depend on the order of tasks or the unit of rewards', () => {
    const task = fc.array(fc.integer({ min: 0, max: 4 }), { minLength: 4, maxLength: 4 });
    fc.assert(
      fc.property(fc.array(task, { maxLength: 10 }), (tasks) => {
        const reliability = splitHalfReliability(tasks);
        const turned = splitHalfReliability(
          tasks.toReversed().map((attempts) => attempts.map((reward) => reward / 4)),
        );
        expect(turned === null).toBe(reliability === null);
        if (reliability !== null && turned !== null) {
          expect(reliability).toBeLessThanOrEqual(1);
          expect(turned).toBeCloseTo(reliability, 6);
        }
      }),
    );
  });

  it('names what is out of its domain', () => {
    expect(() =>
      splitHalfReliability([
        [0, NaN],
        [0, 1],
      ]),
    ).toThrow('rewards[0][1] must be a finite number, got NaN');
  });
});
