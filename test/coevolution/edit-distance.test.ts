import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { normalisedEditDistance } from '../../src/coevolution/novelty.ts';
import { cpuSeconds } from '../../test-support/cpu-seconds.ts';

const editDistance = (left: string, right: string): number =>
  Math.round(normalisedEditDistance(left, right) * Math.max(left.length, right.length));

/** Levenshtein's table (Wagner-Fischer), cell by cell, in UTF-16 code units. */
function tableDistance(left: string, right: string): number {
  let above = Array.from({ length: right.length + 1 }, (_, column) => column);
  for (let row = 0; row < left.length; row++) {
    const cells = [row + 1];
    for (let column = 0; column < right.length; column++) {
      const substituted = above[column]! + (left[row] === right[column] ? 0 : 1);
      cells.push(Math.min(substituted, above[column + 1]! + 1, cells[column]! + 1));
    }
    above = cells;
  }
  return above.at(-1)!;
}

describe('the edit distance', () => {
  const halfPairs = fc.constantFrom('\ud83d', '\ude00', '\ude01', '😀', 'a');
  const aText = fc.oneof(
    fc.string({ maxLength: 90 }),
    fc.string({ unit: fc.constantFrom('a', 'b', 'c'), maxLength: 140 }),
    fc.array(halfPairs, { maxLength: 80 }).map((units) => units.join('')),
  );

  it('is that of the whole table, in code units, whatever the texts', () => {
    fc.assert(
      fc.property(aText, aText, (left, right) => editDistance(left, right) === tableDistance(left, right)),
      { numRuns: 500 },
    );
  });

  it('takes a moment for texts of thousands of characters', async () => {
    const left = Array.from({ length: 5000 }, (_, i) => String.fromCharCode(97 + ((i * i) % 23))).join('');
    const right = 'lorem ipsum '.repeat(400);
    const seconds = await cpuSeconds(() => {
      for (let count = 0; count < 20; count++) editDistance(left, right);
    });
    expect(seconds).toBeLessThan(2);
  });
});
