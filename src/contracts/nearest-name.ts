/** The known name that an unknown one was probably meant to be; undefined where none is close. */
export function nearestName(unknown: string, known: readonly string[]): string | undefined {
  const ranked = known
    .map((name) => ({ name, distance: editDistance(unknown.toLowerCase(), name.toLowerCase()) }))
    .sort((a, b) => a.distance - b.distance);
  const [best] = ranked;
  return best && best.distance <= Math.max(1, Math.floor(unknown.length / 3)) ? best.name : undefined;
}

/** Letters to add, drop, change or swap with their neighbour to turn one word into the other (for words of a few letters). */
function editDistance(a: string, b: string, known = new Map<string, number>()): number {
  if (a === '' || b === '') return a.length + b.length;
  const key = `${a.length},${b.length}`;
  const before = known.get(key);
  if (before !== undefined) return before;
  const rest = (dropA: number, dropB: number): number => editDistance(a.slice(dropA), b.slice(dropB), known);
  const isSwap = a.length > 1 && b.length > 1 && a.startsWith(b.charAt(1)) && b.startsWith(a.charAt(1));
  const swapped = isSwap ? rest(2, 2) + 1 : Infinity;
  const distance = Math.min(
    rest(1, 1) + (b.startsWith(a.charAt(0)) ? 0 : 1),
    rest(1, 0) + 1,
    rest(0, 1) + 1,
    swapped,
  );
  known.set(key, distance);
  return distance;
}
