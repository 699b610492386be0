/** A point of a curve: a place on its axis, and the value there. */
export type Point = readonly [place: number, value: number];

/**
 * The value of a curve at a place, linear between its points; null outside of them.
 * @param points in the order of their places; of equal places the last one counts
 */
export function interpolate(points: readonly Point[], place: number): number | null {
  const after = points.findIndex(([candidate]) => candidate > place);
  const left = points[(after === -1 ? points.length : after) - 1];
  if (left === undefined) return null;
  const [leftPlace, leftValue] = left;
  if (leftPlace === place) return leftValue;
  const right = points[after];
  if (right === undefined) return null;
  const share = (place - leftPlace) / (right[0] - leftPlace);
  return leftValue + share * (right[1] - leftValue);
}
