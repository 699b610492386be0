import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { archiveDistance, distinctShare, normalisedEditDistance } from '../../src/coevolution/diagnostics.ts';

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

describe('archiveDistance', () => {
  it('is the mean distance to the nearest entry', () => {
    // 'abcd' repeats (0); 'abcx' is one edit of four from it (0.25): mean 0.125.
    expect(archiveDistance(['abcd', 'abcx'], ['zzzz', 'abcd'])).toBeCloseTo(0.125, 12);
    expect(archiveDistance([], ['a'])).toBeNull();
    expect(archiveDistance(['a'], [])).toBeNull();
  });

  it('looks at the newest distinct entries only', () => {
    expect(archiveDistance(['old'], ['old', 'xyz', 'xyz'], { capacity: 1 })).toBe(1);
    expect(archiveDistance(['old'], ['old', 'xyz', 'xyz'], { capacity: 2 })).toBe(0);
  });

  it('is in [0, 1], and falls as the archive grows', () => {
    fc.assert(
      fc.property(
        fc.array(text, { minLength: 1 }),
        fc.array(text, { minLength: 1 }),
        text,
        (batch, archive, more) => {
          const distance = archiveDistance(batch, archive) ?? NaN;
          expect(distance >= 0 && distance <= 1).toBe(true);
          expect(archiveDistance(batch, [...archive, more])).toBeLessThanOrEqual(distance);
          expect(archiveDistance(batch, [...archive, ...batch])).toBe(0);
        },
      ),
    );
  });

  it('has a cost that the archive does not grow', () => {
    const long = Array.from({ length: 50_000 }, (_, i) => `T:${i.toString(2).padStart(16, '0')}`);
    const started = performance.now();
    archiveDistance(['U:abcdefghijklmnop', 'V:bcdefghijklmnopa'], long);
    expect(performance.now() - started).toBeLessThan(2000);
  });

  it('names what is out of its domain', () => {
    expect(() => archiveDistance(['a'], ['b'], { capacity: 0 })).toThrow(
      'capacity must be an integer of at least 1, got 0',
    );
  });
});
