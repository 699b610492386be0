/** A scale from 0 to 1 with the band in brackets and the value on it: `··[···●·]··`. */
export function bandScale(value: number | null, [low, high]: readonly [number, number], width = 41): string {
  const at = (x: number): number => Math.round(Math.min(1, Math.max(0, x)) * (width - 1));
  const marks = Array.from({ length: width }, () => '·');
  marks[at(low)] = '[';
  marks[at(high)] = ']';
  if (value !== null) marks[at(value)] = '●';
  return marks.join('');
}

const bars = '▁▂▃▄▅▆▇█';

/** Values from 0 to 1 as small bars, the last `most` of them. */
export const sparkline = (values: readonly number[], most = 41): string =>
  values
    .slice(-most)
    .map((value) => bars[Math.min(bars.length - 1, Math.floor(Math.max(0, value) * bars.length))])
    .join('');

/** `████░░░░` */
export function bar(share: number, width = 28): string {
  const full = Math.round(Math.min(1, Math.max(0, share)) * width);
  return '█'.repeat(full) + '░'.repeat(width - full);
}

export const where = (value: number, [low, high]: readonly [number, number]): string =>
  value < low ? 'below the band' : value > high ? 'above the band' : 'in the band';
