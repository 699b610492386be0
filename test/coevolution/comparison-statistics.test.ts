import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  areaUnderCurve,
  meanCurve,
  rolloutsToThreshold,
  scoreAt,
} from '../../src/comparison/learning-curve.ts';
import { boundedMeanInterval, bootstrapInterval, wilsonInterval } from '../../src/numerics/intervals.ts';
import { randomStream } from '../../src/numerics/random.ts';

describe('the bootstrap interval', () => {
  it('of two values is known: the means 0, 1/2 and 1 come up with 1/4, 1/2 and 1/4', () => {
    expect(bootstrapInterval([0, 1], { seed: 1 })).toEqual({ mean: 0.5, low: 0, high: 1 });
    expect(bootstrapInterval([0, 1], { seed: 1, level: 0.4 })).toEqual({ mean: 0.5, low: 0.5, high: 0.5 });
  });

  it('of many values is near that of the normal distribution', () => {
    const random = randomStream(5);
    const values = Array.from({ length: 400 }, () => random.next());
    const { mean, low, high } = bootstrapInterval(values, { seed: 2 })!;
    // Uniform: standard error sqrt(1/12/400) = 0.01443, times 1.96.
    expect(mean - low).toBeCloseTo(0.0283, 2);
    expect(high - mean).toBeCloseTo(0.0283, 2);
  });

  it.each([
    [3, 0.74],
    [5, 0.85],
    [10, 0.9],
  ])('of %i normal values holds the true mean less often than it says', (size, share) => {
    const random = randomStream(size);
    const normal = (): number =>
      Math.sqrt(-2 * Math.log(1 - random.next())) * Math.cos(2 * Math.PI * random.next());
    const held = Array.from({ length: 1500 }, (_, seed) =>
      bootstrapInterval(Array.from({ length: size }, normal), { seed, resamples: 400 })!,
    ).filter(({ low, high }) => low <= 0 && high >= 0);
    // Three standard errors of a share of 1,500.
    expect(Math.abs(held.length / 1500 - share)).toBeLessThan(3 * Math.sqrt((share * (1 - share)) / 1500));
  });

  it('is the same for the same seed, holds the mean, and moves with the values', () => {
    fc.assert(
      fc.property(
        fc.array(fc.double({ min: -10, max: 10, noNaN: true }), { minLength: 1, maxLength: 8 }),
        fc.integer({ min: 0, max: 1000 }),
        (values, seed) => {
          const { mean, low, high } = bootstrapInterval(values, { seed, resamples: 500 })!;
          expect(bootstrapInterval(values, { seed, resamples: 500 })).toEqual({ mean, low, high });
          expect(low).toBeLessThanOrEqual(mean + 1e-9);
          expect(high).toBeGreaterThanOrEqual(mean - 1e-9);
          expect(
            bootstrapInterval(
              values.map((value) => value + 1),
              { seed, resamples: 500 },
            )!.low,
          ).toBeCloseTo(low + 1, 9);
        },
      ),
      { numRuns: 30 },
    );
    expect(bootstrapInterval([], { seed: 1 })).toBeNull();
  });

  it('of values that are all alike is as wide as what Wilson leaves open: it says that some could have been others', () => {
    const alike = (value: number, count: number, low = 0) =>
      boundedMeanInterval(Array<number>(count).fill(value), { low, high: 1 }, { seed: 0 })!;
    const { high: share } = wilsonInterval({ successes: 0, attempts: 20 });
    expect(alike(0, 20)).toEqual({ mean: 0, low: 0, high: share });
    expect(alike(1, 20)).toEqual({ mean: 1, low: 1 - share, high: 1 });
    expect(alike(0.5, 20)).toEqual({ mean: 0.5, low: 0.5 - share / 2, high: 0.5 + share / 2 });
    // Differences lie between -1 and 1.
    expect(alike(0, 20, -1)).toEqual({ mean: 0, low: -share, high: share });
    expect(alike(0, 400).high).toBeLessThan(0.01);
    expect(boundedMeanInterval([], { low: 0, high: 1 }, { seed: 0 })).toBeNull();
    const values = [0, 1, 1, 0.5];
    expect(boundedMeanInterval(values, { low: 0, high: 1 }, { seed: 3 })).toEqual(
      bootstrapInterval(values, { seed: 3 }),
    );
  });
});

describe('learning curves', () => {
  const curve = [
    { rollouts: 0, score: 0.2 },
    { rollouts: 100, score: 0.4 },
    { rollouts: 300, score: 0.8 },
  ];

  it('are linear between their points and nothing outside', () => {
    expect([0, 50, 100, 200, 300].map((at) => scoreAt(curve, at))).toEqual([
      0.2,
      expect.closeTo(0.3, 12),
      0.4,
      expect.closeTo(0.6, 12),
      0.8,
    ]);
    expect([-1, 301].map((at) => scoreAt(curve, at))).toEqual([null, null]);
  });

  it('have an area, the mean score on the way', () => {
    // (100 x 0.3 + 200 x 0.6) / 300, and (100 x 0.3 + 100 x 0.5) / 200.
    expect(areaUnderCurve(curve, 300)).toBeCloseTo(0.5, 12);
    expect(areaUnderCurve(curve, 200)).toBeCloseTo(0.4, 12);
    expect([areaUnderCurve(curve, 301), areaUnderCurve(curve, 0), areaUnderCurve([], 10)]).toEqual([
      null,
      null,
      null,
    ]);
    expect(
      areaUnderCurve(
        [
          { rollouts: 50, score: 0.7 },
          { rollouts: 90, score: 0.7 },
        ],
        80,
      ),
    ).toBeCloseTo(0.7, 12);
  });

  it('reach a threshold for the first time, or never', () => {
    expect(rolloutsToThreshold(curve, 0.6)).toBeCloseTo(200, 12);
    expect(rolloutsToThreshold(curve, 0.1)).toBe(0);
    expect(rolloutsToThreshold(curve, 0.9)).toBeNull();
    expect(
      rolloutsToThreshold([...curve, { rollouts: 400, score: 0.1 }, { rollouts: 500, score: 0.9 }], 0.6),
    ).toBeCloseTo(200, 12);
  });

  it('over seeds have a mean with Student’s interval', () => {
    const flat = (score: number) => [
      { rollouts: 0, score },
      { rollouts: 300, score },
    ];
    // Of 0.2, 0.4, 0.6: s = 0.2, t(2) = 4.3027: 0.4 ± 0.49683.
    const [at150] = meanCurve([flat(0.2), flat(0.4), flat(0.6)], [150]);
    expect([at150!.rollouts, at150!.seeds]).toEqual([150, 3]);
    expect(at150!.mean).toBeCloseTo(0.4, 12);
    expect(at150!.low).toBeCloseTo(-0.09683, 4);
    expect(at150!.high).toBeCloseTo(0.89683, 4);
    expect(
      meanCurve([flat(0.2), curve.slice(0, 2)], [50, 200, 400]).map(({ seeds, low }) => [
        seeds,
        low === null,
      ]),
    ).toEqual([
      [2, false],
      [1, true],
    ]);
  });

  it('go forward', () => {
    expect(() =>
      scoreAt(
        [
          { rollouts: 5, score: 0 },
          { rollouts: 5, score: 1 },
        ],
        5,
      ),
    ).toThrow('curve[1].rollouts must be an integer of at least 6, got 5');
  });
});
