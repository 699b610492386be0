import fc from 'fast-check';
import { expect, it } from 'vitest';
import { embeddingSimilarity } from '../../src/coevolution/embedding-similarity.ts';

it('is the cosine, worked out by hand', () => {
  expect(embeddingSimilarity([3, 4], [4, 3])).toBeCloseTo(24 / 25, 12);
  expect(embeddingSimilarity([1, 0], [0, 2])).toBe(0);
  expect(embeddingSimilarity([1, 2, 2], [2, 4, 4])).toBeCloseTo(1, 12);
});

it('has no negative values', () => {
  expect(embeddingSimilarity([1, 0], [-1, 0])).toBe(0);
});

it('is symmetric, in [0, 1], and does not depend on lengths of vectors', () => {
  const vector = fc.array(fc.integer({ min: -1000, max: 1000 }), { minLength: 3, maxLength: 3 });
  const nonZero = vector.filter((values) => values.some((value) => value !== 0));
  fc.assert(
    fc.property(nonZero, nonZero, fc.integer({ min: 1, max: 1000 }), (left, right, factor) => {
      const similarity = embeddingSimilarity(left, right);
      expect(similarity).toBeGreaterThanOrEqual(0);
      expect(similarity).toBeLessThanOrEqual(1);
      expect(embeddingSimilarity(right, left)).toBe(similarity);
      const scaled = left.map((value) => value * factor);
      expect(embeddingSimilarity(scaled, right)).toBeCloseTo(similarity, 9);
      expect(embeddingSimilarity(left, scaled)).toBeCloseTo(1, 9);
    }),
  );
});

it('refuses vectors of different lengths', () => {
  expect(() => embeddingSimilarity([1], [1, 2])).toThrow(/embeddings of 1 and 2 numbers/);
});
