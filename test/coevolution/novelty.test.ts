import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { TimeSlices } from '../../src/async/time-slices.ts';
import { archiveDistance, distinctShare, normalisedEditDistance } from '../../src/coevolution/novelty.ts';

const text = fc.string({ unit: fc.constantFrom('a', 'b', 'c'), maxLength: 8 });

describe('distinctShare', () => {
  it('is distinct over all', () => {
    expect(distinctShare(['a', 'b', 'a', 'c'])).toBe(0.75);
    expect(distinctShare(['a', 'a'])).toBe(0.5);
    expect(distinctShare([])).toBeNull();
  });

  it('is in (0, 1], and halves when all is said twice', () => {
    fc.assert(
      fc.property(fc.array(text, { minLength: 1 }), (batch) => {
        const share = distinctShare(batch) ?? NaN;
        expect(share > 0 && share <= 1).toBe(true);
        expect(distinctShare([...batch, ...batch])).toBeCloseTo(share / 2, 12);
      }),
    );
  });
});

describe('normalisedEditDistance', () => {
  it('is Levenshtein over the longer length', () => {
    // kitten -> sitten -> sittin -> sitting: 3 of 7.
    expect(normalisedEditDistance('kitten', 'sitting')).toBeCloseTo(3 / 7, 12);
    expect(normalisedEditDistance('abc', '')).toBe(1);
    expect(normalisedEditDistance('', '')).toBe(0);
    expect(normalisedEditDistance('T:cafe=', 'U:cafe=')).toBeCloseTo(1 / 7, 12);
  });

  it('is 0 for equal texts only, symmetric, at most 1, and at least the difference of lengths', () => {
    fc.assert(
      fc.property(text, text, (left, right) => {
        const distance = normalisedEditDistance(left, right);
        expect(distance === 0).toBe(left === right);
        expect(distance).toBe(normalisedEditDistance(right, left));
        expect(distance).toBeLessThanOrEqual(1);
        const longest = Math.max(left.length, right.length, 1);
        expect(distance).toBeGreaterThanOrEqual(Math.abs(left.length - right.length) / longest);
      }),
    );
  });

  it('keeps the triangle before it is divided', () => {
    const edits = (left: string, right: string) =>
      normalisedEditDistance(left, right) * Math.max(left.length, right.length);
    fc.assert(
      fc.property(text, text, text, (a, b, c) => {
        expect(edits(a, c)).toBeLessThanOrEqual(edits(a, b) + edits(b, c) + 1e-9);
      }),
    );
  });
});

describe('the distance of long texts', () => {
  const long = 'lorem ipsum '.repeat(1_500);

  it('is exact, however long they are, if they differ over less than 2,000 characters', () => {
    const changed = `${long.slice(0, 9_000)}!?${long.slice(9_001)}`;
    expect(normalisedEditDistance(long, changed)).toBe(2 / changed.length);
    expect(normalisedEditDistance(long, long)).toBe(0);
    expect(normalisedEditDistance(long, `${long}${long.slice(0, 600)}`)).toBe(600 / (long.length + 600));
    expect(normalisedEditDistance('a'.repeat(1_999), 'a'.repeat(2_001))).toBe(2 / 2_001);
  });

  it('is estimated by the first 2,000 characters that differ otherwise', () => {
    expect(normalisedEditDistance('a'.repeat(20_000), 'b'.repeat(20_000))).toBe(1);
    expect(normalisedEditDistance('a'.repeat(20_000), '')).toBe(1);
    // The 2,000 characters in the middle are alike, and are not compared.
    const framed = (end: string): string => `${end.repeat(2_000)}${'c'.repeat(2_000)}${end}`;
    expect(normalisedEditDistance(framed('a'), framed('b'))).toBe(1);
    const half = 'ab'.repeat(8_000);
    expect(normalisedEditDistance(`x${half}y`, `z${'ac'.repeat(8_000)}w`)).toBeCloseTo(0.5, 2);
  });

  it('is symmetric, in [0, 1], and 0 for equal texts only', () => {
    const part = fc.integer({ min: 0, max: 3_000 }).map((length) => 'abc'.repeat(length));
    const pair = fc.tuple(part, text, part).map((parts) => parts.join(''));
    fc.assert(
      fc.property(pair, pair, (left, right) => {
        const distance = normalisedEditDistance(left, right);
        expect(distance).toBe(normalisedEditDistance(right, left));
        expect(distance >= 0 && distance <= 1).toBe(true);
        expect(distance === 0).toBe(left === right);
      }),
      { numRuns: 50 },
    );
  });
});

describe('archiveDistance', () => {
  it('is the mean distance to the nearest entry', async () => {
    // 'abcd' repeats (0); 'abcx' is one edit of four from it (0.25): mean 0.125.
    expect(await archiveDistance(['abcd', 'abcx'], ['zzzz', 'abcd'])).toBeCloseTo(0.125, 12);
    expect(await archiveDistance([], ['a'])).toBeNull();
    expect(await archiveDistance(['a'], [])).toBeNull();
  });

  it('looks at the newest distinct entries only', async () => {
    expect(await archiveDistance(['old'], ['old', 'xyz', 'xyz'], { capacity: 1 })).toBe(1);
    expect(await archiveDistance(['old'], ['old', 'xyz', 'xyz'], { capacity: 2 })).toBe(0);
  });

  it('is in [0, 1], and falls as the archive grows', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(text, { minLength: 1 }),
        fc.array(text, { minLength: 1 }),
        text,
        async (batch, archive, more) => {
          const distance = (await archiveDistance(batch, archive)) ?? NaN;
          expect(distance >= 0 && distance <= 1).toBe(true);
          expect(await archiveDistance(batch, [...archive, more])).toBeLessThanOrEqual(distance);
          expect(await archiveDistance(batch, [...archive, ...batch])).toBe(0);
        },
      ),
    );
  });

  it('compares a task with the newest 512 entries of an archive, however many it has', async () => {
    const archive = ['abcd', ...Array.from({ length: 512 }, (_, index) => `${index}`)];
    expect(await archiveDistance(['abcd'], archive)).toBe(1);
    expect(await archiveDistance(['abcd'], archive.slice(0, -1))).toBe(0);
  });

  it('lets the rest of the process run while it compares, and can be stopped', async () => {
    const long = Array.from({ length: 100 }, (_, i) => `${i}${'abcde'.repeat(1_000)}${i}`);
    const slices: number[] = [];
    const count = new TimeSlices((done) => slices.push(done));
    await archiveDistance(['x'.repeat(5_000)], long, { slices: count });
    expect(slices.slice(0, 2)).toEqual([1, 2]);
    const stop = new TimeSlices(() => {
      throw new Error('stopped');
    });
    await expect(archiveDistance(['x'.repeat(5_000)], long, { slices: stop })).rejects.toThrow('stopped');
  });

  it('names what is out of its domain', async () => {
    await expect(archiveDistance(['a'], ['b'], { capacity: 0 })).rejects.toThrow(
      'capacity must be an integer of at least 1, got 0',
    );
  });
});
