import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { drawMix } from '../../src/coevolution/training-pool.ts';
import type { Drawn, TrainingMix, TrainingPool } from '../../src/coevolution/training-pool.ts';
import { randomStream } from '../../src/numerics/random.ts';

const numbers = (count: number, prefix: string) => Array.from({ length: count }, (_, i) => `${prefix}${i}`);
const pool = (base: number, history: number, written: number): TrainingPool<string> => ({
  base: numbers(base, 'b'),
  history: numbers(history, 'h'),
  new: numbers(written, 'n'),
});
const mixed = { base: 1, history: 1, new: 2 };

function tally(drawn: readonly Drawn<string>[]): [number, number, number] {
  const countFrom = (source: string) => drawn.filter((draw) => draw.source === source).length;
  return [countFrom('base'), countFrom('history'), countFrom('new')];
}

describe('drawMix', () => {
  const counts = (sizes: TrainingPool<string>, mix: TrainingMix, count: number) =>
    tally(drawMix(sizes, mix, count, randomStream(1)));

  it('draws the stated mix', () => {
    expect(counts(pool(50, 50, 50), mixed, 32)).toEqual([8, 8, 16]);
    expect(counts(pool(50, 50, 50), { base: 25, history: 25, new: 50 }, 32)).toEqual([8, 8, 16]);
    // 10 / 4 = 2.5, 2.5, 5: the spare one goes to the first of the equal remainders.
    expect(counts(pool(50, 50, 50), mixed, 10)).toEqual([3, 2, 5]);
  });

  it('passes on what a source lacks', () => {
    // Epoch 0: no history. 32 in the parts 1 : 2 are 10.67 and 21.33.
    expect(counts(pool(50, 0, 50), mixed, 32)).toEqual([11, 0, 21]);
    // Four new ones instead of 16; the other 28 in the parts 1 : 1.
    expect(counts(pool(50, 50, 4), mixed, 32)).toEqual([14, 14, 4]);
  });

  it('never draws from a source without a part', () => {
    expect(counts(pool(50, 50, 3), { base: 0, history: 0, new: 1 }, 8)).toEqual([0, 0, 8]);
    expect(counts(pool(50, 50, 0), { base: 0, history: 0, new: 1 }, 8)).toEqual([0, 0, 0]);
  });

  it('draws every task once before any task twice', () => {
    fc.assert(
      fc.property(
        fc.tuple(fc.nat(9), fc.nat(9), fc.nat(9)),
        fc.tuple(fc.nat(4), fc.nat(4), fc.nat(4)),
        fc.nat(40),
        fc.nat(),
        ([b, h, n], [mb, mh, mn], count, seed) => {
          fc.pre(mb + mh + mn > 0);
          const sizes = pool(b, h, n);
          const drawn = drawMix(sizes, { base: mb, history: mh, new: mn }, count, randomStream(seed));
          const usable = (mb > 0 ? b : 0) + (mh > 0 ? h : 0) + (mn > 0 ? n : 0);
          expect(drawn).toHaveLength(usable === 0 ? 0 : count);
          const times = new Map<string, number>();
          for (const { source, index, item } of drawn) {
            expect(sizes[source][index]).toBe(item);
            times.set(item, (times.get(item) ?? 0) + 1);
          }
          if (usable > 0) {
            const rounds = Math.floor(count / usable);
            for (const draws of times.values()) expect(draws === rounds || draws === rounds + 1).toBe(true);
          }
        },
      ),
    );
  });

  it('is within one task of the mix if no source is short', () => {
    fc.assert(
      fc.property(
        fc.tuple(
          fc.integer({ min: 1, max: 20 }),
          fc.integer({ min: 1, max: 20 }),
          fc.integer({ min: 1, max: 20 }),
        ),
        fc.nat(40),
        (parts, count) => {
          const [base, history, written] = parts;
          const total = base + history + written;
          const got = counts(pool(50, 50, 50), { base, history, new: written }, count);
          for (const [i, part] of parts.entries())
            expect(Math.abs((got[i] ?? NaN) - (count * part) / total)).toBeLessThan(1);
        },
      ),
    );
  });

  it('repeats with its seed and reaches every task', () => {
    const draw = (seed: number) =>
      drawMix(pool(9, 9, 9), mixed, 8, randomStream(seed)).map(({ item }) => item);
    expect(draw(5)).toEqual(draw(5));
    expect(draw(5)).not.toEqual(draw(6));
    expect(new Set(Array.from({ length: 60 }, (_, seed) => draw(seed)).flat()).size).toBe(27);
  });

  it('names what is out of its domain', () => {
    expect(() => counts(pool(1, 1, 1), { base: 0, history: 0, new: 0 }, 1)).toThrow(
      'mix must have a part above 0',
    );
    expect(() => counts(pool(1, 1, 1), { base: -1, history: 0, new: 1 }, 1)).toThrow('mix.base');
    expect(() => counts(pool(1, 1, 1), mixed, 1.5)).toThrow(
      'count must be an integer of at least 0, got 1.5',
    );
  });
});
