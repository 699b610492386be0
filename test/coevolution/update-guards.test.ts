import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { TimeSlices } from '../../src/async/time-slices.ts';
import { normalisedEditDistance } from '../../src/coevolution/novelty.ts';
import { better, hasFlatRewards, isForgetting, starvedEpochs } from '../../src/coevolution/guards.ts';
import { clusterSizes } from '../../src/coevolution/task-clusters.ts';
import { sum } from '../../src/numerics/arithmetic.ts';

/** Average-link clustering by its definition: every link anew after every merge. */
function clusterSizesByDefinition(texts: readonly string[], maxDistance: number): number[] {
  let clusters = [...new Set(texts)].map((text) => [text]);
  for (;;) {
    let nearest = { distance: Infinity, left: 0, right: 0 };
    for (const [left, first] of clusters.entries())
      for (const [right, second] of clusters.entries()) {
        if (right <= left) continue;
        const links = first.map((a) => sum(second.map((b) => normalisedEditDistance(a, b))));
        const distance = sum(links) / (first.length * second.length);
        if (distance < nearest.distance) nearest = { distance, left, right };
      }
    const { distance, left, right } = nearest;
    if (!(distance <= maxDistance)) break;
    const merged = [...clusters[left]!, ...clusters[right]!];
    clusters = [...clusters.filter((_, index) => index !== left && index !== right), merged];
  }
  return texts.map((text) => clusters.find((cluster) => cluster.includes(text))!.length);
}

describe('clusters of near copies', () => {
  it('join texts whose mean distance is within the bound, and count copies once', async () => {
    // aaaa and aaab differ in one of four letters, 0.25; cccc in all.
    expect(await clusterSizes(['aaaa', 'aaab', 'cccc', 'aaaa'], 0.25)).toEqual([2, 2, 1, 2]);
    expect(await clusterSizes(['aaaa', 'aaab', 'cccc'], 0.24)).toEqual([1, 1, 1]);
    expect(await clusterSizes(['aaaa', 'aaab', 'cccc'], 1)).toEqual([3, 3, 3]);
    expect(await clusterSizes([], 0.5)).toEqual([]);
  });

  it('go by the average link: a chain does not join its ends', async () => {
    // a-b 0.25, b-c 0.25, a-c 0.5: with {a, b}, c is (0.5 + 0.25) / 2 = 0.375 away.
    expect(await clusterSizes(['aaaa', 'aaab', 'aabb'], 0.3)).toEqual([2, 2, 1]);
    expect(await clusterSizes(['aaaa', 'aaab', 'aabb'], 0.375)).toEqual([3, 3, 3]);
  });

  it('are those of the definition, equal distances included', async () => {
    const text = fc.string({ unit: fc.constantFrom('a', 'b', 'c'), maxLength: 7 });
    await fc.assert(
      fc.asyncProperty(
        fc.array(text, { maxLength: 14 }),
        fc.double({ min: 0, max: 1, noNaN: true }),
        async (texts, maxDistance) => {
          expect(await clusterSizes(texts, maxDistance)).toEqual(
            clusterSizesByDefinition(texts, maxDistance),
          );
        },
      ),
      { numRuns: 300 },
    );
  });

  it('let the rest of the process run while they are looked for', async () => {
    const slices: number[] = [];
    const texts = Array.from({ length: 90 }, (_, i) => `${i} ${'ab'.repeat(400)} ${'xy'.repeat(i)}`);
    await clusterSizes(texts, 0.5, new TimeSlices((count) => slices.push(count)));
    expect(slices.slice(0, 2)).toEqual([1, 2]);
  });

  it('refuse a distance that is none, and more texts than can be compared', async () => {
    await expect(clusterSizes(['a'], 1.5)).rejects.toThrow('maxDistance must be in [0, 1], got 1.5');
    const texts = Array.from({ length: 4097 }, (_, index) => `${index}`);
    await expect(clusterSizes(texts, 0)).rejects.toThrow('distinct texts must be in [0, 4096], got 4097');
  });
});

describe('flat rewards', () => {
  it('span less than the bound, or are none', () => {
    expect(hasFlatRewards([], 0.05)).toBe(true);
    expect(hasFlatRewards([0.3], 0.05)).toBe(true);
    expect(hasFlatRewards([0.3, 0.34], 0.05)).toBe(true);
    expect(hasFlatRewards([0.3, 0.36], 0.05)).toBe(false);
    // All failed, and one success in eight: exp(-2) and exp(-8 * 0.375^2).
    expect(hasFlatRewards([Math.exp(-2), Math.exp(-1.125)], 0.05)).toBe(false);
    expect(() => hasFlatRewards([NaN], 0.05)).toThrow('rewards[0] must be a finite number');
  });

  it('are counted in a row; a bound of 0 counts epochs without any record alone', () => {
    expect([
      starvedEpochs(3, [0.1, 0.1], 0.05),
      starvedEpochs(3, [0.1, 0.9], 0.05),
      starvedEpochs(3, [], 0),
      starvedEpochs(3, [0.1], 0),
    ]).toEqual([4, 0, 4, 0]);
  });
});

describe('the anchor gate', () => {
  it('acts where the upper end of the interval is below the best, less the drop', () => {
    const best = { successes: 64, attempts: 128 };
    // Wilson, 95 %: 50 of 128 reaches to 0.477, 49 to 0.469.
    expect(isForgetting({ successes: 50, attempts: 128 }, best, 0.02)).toBe(true);
    expect(isForgetting({ successes: 51, attempts: 128 }, best, 0.02)).toBe(false);
    expect(isForgetting({ successes: 50, attempts: 128 }, best, 0.1)).toBe(false);
    expect(isForgetting({ successes: 5, attempts: 10 }, { successes: 9, attempts: 10 }, 0)).toBe(true);
    expect(isForgetting({ successes: 0, attempts: 0 }, best, 0)).toBe(false);
  });

  it('keeps the better of two counts', () => {
    expect(better({ successes: 1, attempts: 2 }, { successes: 3, attempts: 5 })).toEqual({
      successes: 3,
      attempts: 5,
    });
    expect(better({ successes: 2, attempts: 2 }, { successes: 3, attempts: 5 })).toEqual({
      successes: 2,
      attempts: 2,
    });
  });
});
