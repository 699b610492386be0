import { describe, expect, it, test } from 'vitest';
import { holmAdjusted } from '../../src/numerics/holm.ts';
import { randomStream } from '../../src/numerics/random.ts';
import { LEAST_PAIRS, signFlipTest } from '../../src/numerics/sign-flip.ts';
import {
  studentCentralShare,
  studentInterval,
  studentQuantile,
  studentTest,
} from '../../src/numerics/student.ts';

describe('Student’s distribution', () => {
  it.each([
    [0.95, 1, 12.7062],
    [0.95, 2, 4.3027],
    [0.95, 4, 2.7764],
    [0.95, 5, 2.5706],
    [0.95, 20, 2.086],
    [0.95, 30, 2.0423],
    [0.95, 99, 1.9842],
    [0.9, 1, 6.3138],
    [0.9, 4, 2.1318],
    [0.9, 5, 2.015],
    [0.99, 7, 3.4995],
  ])('has the quantiles of printed tables: %d with %d degrees of freedom', (level, degrees, t) => {
    expect(studentQuantile(level, degrees)).toBeCloseTo(t, 4);
    expect(studentCentralShare(t, degrees)).toBeCloseTo(level, 4);
  });

  it('is a share for every t and number of degrees, so that its p is one', () => {
    for (let degrees = 1; degrees < 100; degrees++)
      for (const power of Array.from({ length: 81 }, (_, index) => index / 10 - 2)) {
        const share = studentCentralShare(10 ** power, degrees);
        expect([share >= 0, share <= 1], `t = 10^${power}, ${degrees} degrees: ${share}`).toEqual([
          true,
          true,
        ]);
      }
  });

  it('gives a mean its interval, and a p that is 0.05 where the interval ends at 0', () => {
    // Of 0.2, 0.4, 0.6: s = 0.2, t(2) = 4.3027: 0.4 ± 0.49683.
    const { low, high } = studentInterval([0.2, 0.4, 0.6])!;
    expect([low, high]).toEqual([expect.closeTo(-0.09683, 4), expect.closeTo(0.89683, 4)]);
    const shifted = [0.2, 0.4, 0.6].map((value) => value - low!);
    expect(studentTest(shifted)).toBeCloseTo(0.05, 9);
  });

  it('says nothing of one value, or of values that are all alike', () => {
    expect(studentInterval([])).toBeNull();
    for (const values of [[0.3], [0.3, 0.3, 0.1 + 0.2]]) {
      expect(studentInterval(values)).toMatchObject({ low: null, high: null });
      expect(studentTest(values)).toBeNull();
    }
  });

  it('holds the true mean of five normal values in 95 of 100 cases', () => {
    const random = randomStream(7);
    const normal = (): number =>
      Math.sqrt(-2 * Math.log(1 - random.next())) * Math.cos(2 * Math.PI * random.next());
    const held = Array.from({ length: 4000 }, () =>
      studentInterval(Array.from({ length: 5 }, normal))!,
    ).filter(({ low, high }) => low! <= 0 && high! >= 0);
    // Three standard errors.
    expect(Math.abs(held.length / 4000 - 0.95)).toBeLessThan(0.0104);
  });
});

describe('the sign-flip test', () => {
  it('counts the sign patterns whose sum is as far from 0', () => {
    expect(signFlipTest([1, 2, 3])).toBe(2 / 8);
    // ±6 and ±4: the patterns of 1, 2, 3 with a sum of 4 or more are + + + and - + +.
    expect(signFlipTest([-1, 2, 3])).toBe(4 / 8);
    expect(signFlipTest([0, 0])).toBe(1);
    expect(signFlipTest([])).toBeNull();
  });

  it('can be below 0.05 from six pairs on', () => {
    const least = (pairs: number): number => signFlipTest(Array.from({ length: pairs }, () => 0.1))!;
    expect(least(LEAST_PAIRS - 1)).toBe(0.0625);
    expect(least(LEAST_PAIRS)).toBe(0.03125);
  });

  it('draws patterns where there are too many to count, and gives the same each time', () => {
    const differences = Array.from(
      { length: 24 },
      (_, index) => (index % 3 === 0 ? -1 : 1) * (1 + index / 24),
    );
    const p = signFlipTest(differences)!;
    expect(signFlipTest(differences)).toBe(p);
    // By the normal limit: the sum over the root of the sum of squares.
    const z =
      differences.reduce((total, value) => total + value, 0) /
      Math.sqrt(differences.reduce((total, value) => total + value ** 2, 0));
    expect(z).toBeCloseTo(1.693, 3);
    expect(Math.abs(p - 0.0905)).toBeLessThan(0.01);
  });
});

test('Holm multiplies the least p by all tests, the next by those left, and never goes down', () => {
  expect(holmAdjusted([0.01, 0.04, 0.03])).toEqual([
    expect.closeTo(0.03, 12),
    expect.closeTo(0.06, 12),
    expect.closeTo(0.06, 12),
  ]);
  expect(holmAdjusted([0.6, 0.001, 0.7])).toEqual([1, expect.closeTo(0.003, 12), 1]);
  expect(holmAdjusted([])).toEqual([]);
});
