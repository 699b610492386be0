import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { editDistance } from '../../src/coevolution/edit-distance.ts';

/** Wagner-Fischer, cell by cell. */
function plainly(left: string, right: string): number {
  let above = Array.from({ length: right.length + 1 }, (_, column) => column);
  for (let row = 0; row < left.length; row++) {
    const cells = [row + 1];
    for (let column = 0; column < right.length; column++)
      cells.push(
        Math.min(
          above[column]! + (left[row] === right[column] ? 0 : 1),
          above[column + 1]! + 1,
          cells[column]! + 1,
        ),
      );
    above = cells;
  }
  return above.at(-1)!;
}

describe('the edit distance', () => {
  const aText = fc.oneof(
    fc.string({ maxLength: 90 }),
    fc.string({ unit: fc.constantFrom('a', 'b', 'c'), maxLength: 140 }),
  );

  it('is that of the whole table, whatever the texts', () => {
    fc.assert(
      fc.property(aText, aText, (left, right) => editDistance(left, right) === plainly(left, right)),
      { numRuns: 500 },
    );
  });

  it.each([31, 32, 33, 64, 65, 96])(
    'is so where a text of %i characters fills its blocks or just does not',
    (length) => {
      const text = 'abcde'.repeat(20).slice(0, length);
      for (const other of [
        text,
        `${text}x`,
        text.slice(1),
        `x${text.slice(0, -1)}`,
        [...text].reverse().join(''),
        'x'.repeat(length),
      ])
        expect(editDistance(text, other)).toBe(plainly(text, other));
    },
  );

  it('takes a moment for texts of thousands of characters', () => {
    const [left, right] = [
      Array.from({ length: 5000 }, (_, at) => String.fromCharCode(97 + ((at * at) % 23))).join(''),
      'lorem ipsum '.repeat(400),
    ];
    const before = performance.now();
    for (let count = 0; count < 20; count++) editDistance(left, right);
    expect(performance.now() - before).toBeLessThan(2000);
  });
});
