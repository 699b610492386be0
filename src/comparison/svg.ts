import { range } from '../numerics/arithmetic.ts';

/** The parts that figures are drawn from: axes, lines and words as SVG. */

/** Told apart by people who see no red and green (Okabe and Ito). */
export const COLORS = ['#0072b2', '#d55e00', '#009e73', '#cc79a7', '#e69f00', '#56b4e9'];

/** The limits of an axis, and the distance of its ticks. */
export interface Scale {
  low: number;
  high: number;
  step: number;
}

/** Limits and ticks of an axis that holds two values: steps of 1, 2 or 5 times a power of ten, about five of them. */
export function scaleOf(from: number, to: number): Scale {
  const rough = Math.max(to - from, 1e-9) / 5;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * ([1, 2, 5].find((factor) => factor * power >= rough) ?? 10);
  const first = Math.floor(from / step);
  return { low: first * step, high: Math.max(Math.ceil(to / step), first + 1) * step, step };
}

export const ticks = ({ low, high, step }: Scale): number[] =>
  range(Math.round((high - low) / step) + 1).map((index) => Number((low + index * step).toPrecision(12)));

export const positionOf = (value: number, { low, high }: Scale, start: number, end: number): number =>
  start + ((value - low) / (high - low)) * (end - start);

/** A tick with as many decimals as its step needs, two at least. */
export const tickText = (value: number, { step }: Scale): string =>
  value.toFixed(Math.max(2, Math.ceil(-Math.log10(step))));

export const coordinate = (value: number): string => value.toFixed(1);

export const line = (
  [x1, y1]: [number, number],
  [x2, y2]: [number, number],
  color: string,
  width = 1,
): string =>
  `<line x1="${coordinate(x1)}" y1="${coordinate(y1)}" x2="${coordinate(x2)}" y2="${coordinate(y2)}" stroke="${color}" stroke-width="${width}"/>`;

export const text = (
  x: number,
  y: number,
  content: string,
  { anchor = 'start', size = 13 }: { anchor?: 'start' | 'middle' | 'end'; size?: number } = {},
): string =>
  `<text x="${coordinate(x)}" y="${coordinate(y)}" text-anchor="${anchor}" font-size="${size}">${escaped(content)}</text>`;

const escaped = (content: string): string =>
  content.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');

/** A figure of its own: its title is what is read to people who do not see it. */
export const svgFile = (
  { width, height, title, fontSize }: { width: number; height: number; title: string; fontSize: number },
  marks: readonly string[],
): string =>
  [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" font-family="sans-serif" font-size="${fontSize}" role="img">`,
    `<title>${escaped(title)}</title>`,
    `<rect width="${width}" height="${height}" fill="#ffffff"/>`,
    ...marks,
    '</svg>',
    '',
  ].join('\n');

/** A line of the legend: a square in the color of what it names. */
export const legendEntry = (x: number, y: number, color: string, name: string): string[] => [
  `<rect x="${x}" y="${y}" width="12" height="12" fill="${color}"/>`,
  text(x + 18, y + 11, name),
];

/** A line through points. @param style further attributes of the line */
export const polyline = (
  points: readonly (readonly [x: number, y: number])[],
  color: string,
  style: string,
): string =>
  `<polyline points="${points.map(([x, y]) => `${coordinate(x)},${coordinate(y)}`).join(' ')}" fill="none" stroke="${color}" ${style}/>`;
