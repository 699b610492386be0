/** Rows of the table in one word. */
const rows = 32;

/**
 * Fewest insertions, deletions and substitutions that turn one text into the other (Levenshtein), in UTF-16
 * code units. Myers' bit vectors in blocks (JACM 1999; Hyyrö 2003): a column of 32 cells at a time, so that
 * texts of thousands of characters can be compared with hundreds.
 */
export function editDistance(left: string, right: string): number {
  if (left === '' || right === '') return left.length + right.length;
  const blocks = Math.ceil(left.length / rows);
  const places = placesOf(left, blocks);
  const nowhere = new Int32Array(blocks);
  const plus = new Int32Array(blocks).fill(-1);
  const minus = new Int32Array(blocks);
  const lastRow = 1 << ((left.length - 1) % rows);
  let distance = left.length;
  for (let column = 0; column < right.length; column++) {
    const placed = places.get(right.charCodeAt(column)) ?? nowhere;
    // The table's upper edge grows by one a column.
    let carry = 1;
    for (let block = 0; block < blocks; block++) {
      const bottom = block === blocks - 1 ? lastRow : 1 << (rows - 1);
      const [up, down] = [plus[block]!, minus[block]!];
      const vertical = placed[block]! | down;
      const equal = placed[block]! | (carry < 0 ? 1 : 0);
      const horizontal = (((equal & up) + up) ^ up) | equal;
      const grows = down | ~(horizontal | up);
      const shrinks = up & horizontal;
      const next = (grows & bottom) !== 0 ? 1 : (shrinks & bottom) !== 0 ? -1 : 0;
      const growsBelow = (grows << 1) | (carry > 0 ? 1 : 0);
      const shrinksBelow = (shrinks << 1) | (carry < 0 ? 1 : 0);
      plus[block] = shrinksBelow | ~(vertical | growsBelow);
      minus[block] = growsBelow & vertical;
      carry = next;
    }
    distance += carry;
  }
  return distance;
}

/** Where each character stands: a bit a row, in blocks. */
function placesOf(text: string, blocks: number): Map<number, Int32Array> {
  const places = new Map<number, Int32Array>();
  for (let row = 0; row < text.length; row++) {
    const code = text.charCodeAt(row);
    let bits = places.get(code);
    if (bits === undefined) places.set(code, (bits = new Int32Array(blocks)));
    bits[Math.floor(row / rows)]! |= 1 << (row % rows);
  }
  return places;
}
