import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { MAX_TEXT, predictFromTexts } from '../../src/coevolution/arms/text-predictor.ts';
import { rankCorrelation } from '../../src/numerics/tests.ts';
import { randomStream } from '../../src/numerics/random.ts';
import { createWorld } from '../../src/worlds/registry.ts';
import { worldSettings } from '../../src/worlds/settings.ts';

const seen = (text: string, successes: number, epoch = 1) => ({ text, successes, attempts: 8, epoch });

describe('success predicted from texts', () => {
  it('is unknown before anything was seen', () => {
    expect(predictFromTexts(['ab', 'c'], [], 1)).toEqual([null, null]);
    expect(predictFromTexts(['ab'], [{ text: 'ab', successes: 0, attempts: 0, epoch: 1 }], 1)).toEqual([
      null,
    ]);
  });

  it('forgets what weighs nothing any more', () => {
    expect(predictFromTexts(['a'], [seen('a', 8)], 5_000)).toEqual([null]);
    const recent = seen('b', 2, 5_000);
    expect(predictFromTexts(['a'], [seen('a', 8), recent], 5_000)).toEqual(
      predictFromTexts(['a'], [recent], 5_000),
    );
  });

  it('is the mean logit where all texts are alike', () => {
    // By hand: ln(8.5 / 0.5) and ln(0.5 / 8.5) have the mean 0.
    expect(predictFromTexts(['ab', 'zzz'], [seen('ab', 8), seen('ab', 0)], 1)).toEqual([0.5, 0.5]);
    const [rate] = predictFromTexts(['ab'], [seen('ab', 2), seen('ab', 2)], 1);
    expect(rate).toBeCloseTo(2.5 / 9, 12);
  });

  it('is what ridge regression gives, by hand for two texts', () => {
    // 'a' and 'b' have one gram each, in buckets of their own: centred rows (1/2, -1/2) and its negative, mean
    // square 1/2, so K = [[1, -1], [-1, 1]]. With y = ±ln 17 and ρ = 1: a = y / 3, and K a = 2 y / 3.
    const [a, b] = predictFromTexts(['a', 'b'], [seen('a', 8), seen('b', 0)], 1);
    expect(a).toBeCloseTo(1 / (1 + Math.exp((-2 * Math.log(17)) / 3)), 12);
    expect(a! + b!).toBeCloseTo(1, 12);
  });

  it('lets old outcomes count less', () => {
    const [recent] = predictFromTexts(['a'], [seen('a', 8, 4), seen('b', 0, 1)], 4);
    const [old] = predictFromTexts(['a'], [seen('a', 8, 1), seen('b', 0, 4)], 4);
    expect(recent).toBeGreaterThan(old!);
  });

  it.each([
    ['toolbox', 0.9, 0.94],
    ['programs', 0.6, 0.82],
    ['language', 0.6, 0.92],
  ] as const)(
    'ranks new tasks of the world %s by the success that follows from their difficulty',
    (type, q, least) => {
      const world = createWorld(worldSettings.parse({ type }));
      const random = randomStream(7);
      const draw = (count: number) => Array.from({ length: count }, () => world.uniformTask!(random));
      const success = (spec: string) => q ** world.difficulty(spec);
      const outcomes = draw(128).map((spec) =>
        seen(spec, Array.from({ length: 8 }, () => random.next()).filter((u) => u < success(spec)).length),
      );
      const tasks = draw(128);
      const predicted = predictFromTexts(tasks, outcomes, 1).map((rate) => rate!);
      expect(rankCorrelation(predicted, tasks.map(success))).toBeGreaterThan(least);
      expect(predictFromTexts(tasks, outcomes, 1)).toEqual(predicted);
    },
  );

  it('takes any texts and stays in (0, 1), looking at no more than the start of each and the newest 512', () => {
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.string({ unit: 'binary' }), fc.integer({ min: 0, max: 8 })), {
          minLength: 1,
          maxLength: 40,
        }),
        fc.string({ unit: 'binary' }),
        (rows, text) => {
          const [rate] = predictFromTexts(
            [text],
            rows.map(([spec, successes]) => seen(spec, successes)),
            1,
          );
          expect(rate).toBeGreaterThan(0);
          expect(rate).toBeLessThan(1);
        },
      ),
    );
    const outcomes = [seen('a', 8), seen('b', 0), seen('a'.repeat(50), 3)];
    const long = 'ab'.repeat(MAX_TEXT);
    expect(predictFromTexts([long], outcomes, 1)).toEqual(
      predictFromTexts([long.slice(0, MAX_TEXT)], outcomes, 1),
    );
    const newest = Array.from({ length: 512 }, (_, index) => seen(index % 2 === 0 ? 'a' : 'b', index % 9));
    expect(predictFromTexts(['a'], [seen('a', 0), ...newest], 1)).toEqual(predictFromTexts(['a'], newest, 1));
  });
});
