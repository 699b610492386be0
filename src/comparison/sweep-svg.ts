import { range } from '../numerics/arithmetic.ts';
import { runMetrics } from './run-metrics.ts';
import { valueText } from './seed-estimates.ts';
import type { Sweep, SweepPoint } from './sweep.ts';

const WIDTH = 720;
const PLOT = { left: 76, right: 700, height: 276 };
/** A line of the legend, below the title. */
const LEGEND = { top: 38, row: 20 };
/** Between the points of two pairs in one comparison, so that their intervals stand side by side. */
const SPACING = 5;
/** Told apart by people who see no red and green (Okabe and Ito). */
const COLORS = ['#0072b2', '#d55e00', '#009e73', '#cc79a7', '#e69f00', '#56b4e9'];

interface Scale {
  low: number;
  high: number;
  step: number;
}

/** The sweep as a figure: a line for each pair of arms, with the interval of each point, and the line of no gain. */
export function sweepSvg({ measure, pairs, points }: Sweep): string {
  const { title, unit } = runMetrics[measure];
  const ends = points.flatMap(({ difference: { mean, low, high } }) => [mean, low ?? mean, high ?? mean]);
  const across = scaleOf(0, Math.max(...points.map(({ p0 }) => p0)));
  const up = scaleOf(Math.min(0, ...ends), Math.max(0, ...ends));
  const top = LEGEND.top + LEGEND.row * pairs.length + 12;
  const bottom = top + PLOT.height;
  const height = bottom + 60;
  const x = (value: number): number => place(value, across, PLOT.left, PLOT.right);
  const y = (value: number): number => place(value, up, bottom, top);
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" font-family="sans-serif" font-size="13" role="img">`,
    `<title>${escaped(`Difference in ${title} by the success on the first tasks`)}</title>`,
    `<rect width="${WIDTH}" height="${height}" fill="#ffffff"/>`,
    text(PLOT.left, 24, `Difference in ${title}`, { size: 15 }),
    ...ticks(up).flatMap((value) => [
      line([PLOT.left, y(value)], [PLOT.right, y(value)], value === 0 ? '#333333' : '#e0e0e0'),
      text(PLOT.left - 8, y(value) + 4, valueText(value, unit), { anchor: 'end' }),
    ]),
    ...ticks(across).map((value) =>
      text(x(value), bottom + 20, shareText(value, across), { anchor: 'middle' }),
    ),
    text(
      (PLOT.left + PLOT.right) / 2,
      bottom + 44,
      'p0: success on the first epoch’s tasks of the baseline',
      {
        anchor: 'middle',
      },
    ),
    ...pairs.flatMap(({ arm, against }, index) => {
      const own = points.filter((point) => point.arm === arm && point.against === against);
      const color = COLORS[index % COLORS.length]!;
      const row = LEGEND.top + index * LEGEND.row;
      const shift = (index - (pairs.length - 1) / 2) * SPACING;
      const shifted = (value: number): number => x(value) + shift;
      const corners = own.map(({ p0, difference }) => `${fixed(shifted(p0))},${fixed(y(difference.mean))}`);
      return [
        `<rect x="${PLOT.left}" y="${row}" width="12" height="12" fill="${color}"/>`,
        text(PLOT.left + 18, row + 11, `${arm} − ${against}`),
        `<polyline points="${corners.join(' ')}" fill="none" stroke="${color}" stroke-width="1.5"/>`,
        ...own.flatMap((point) => pointMarks(point, shifted, y, color)),
      ];
    }),
    '</svg>',
    '',
  ].join('\n');
}

function pointMarks(
  { p0, difference: { mean, low, high } }: SweepPoint,
  x: (value: number) => number,
  y: (value: number) => number,
  color: string,
): string[] {
  const circle = `<circle cx="${fixed(x(p0))}" cy="${fixed(y(mean))}" r="4" fill="${color}"/>`;
  return low === null || high === null
    ? [circle]
    : [line([x(p0), y(low)], [x(p0), y(high)], color, 2), circle];
}

/** Limits and ticks of an axis that holds two values: steps of 1, 2 or 5 times a power of ten, about five of them. */
function scaleOf(from: number, to: number): Scale {
  const rough = Math.max(to - from, 1e-9) / 5;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * ([1, 2, 5].find((factor) => factor * power >= rough) ?? 10);
  return { low: Math.floor(from / step) * step, high: Math.ceil(to / step) * step, step };
}

const ticks = ({ low, high, step }: Scale): number[] =>
  range(Math.round((high - low) / step) + 1).map((index) => Number((low + index * step).toPrecision(12)));

const place = (value: number, { low, high }: Scale, start: number, end: number): number =>
  start + ((value - low) / (high - low)) * (end - start);

/** A tick with as many decimals as its step needs, two at least. */
const shareText = (value: number, { step }: Scale): string =>
  value.toFixed(Math.max(2, Math.ceil(-Math.log10(step))));

const fixed = (value: number): string => value.toFixed(1);

const line = ([x1, y1]: [number, number], [x2, y2]: [number, number], color: string, width = 1): string =>
  `<line x1="${fixed(x1)}" y1="${fixed(y1)}" x2="${fixed(x2)}" y2="${fixed(y2)}" stroke="${color}" stroke-width="${width}"/>`;

const text = (
  x: number,
  y: number,
  content: string,
  { anchor = 'start', size = 13 }: { anchor?: 'start' | 'middle' | 'end'; size?: number } = {},
): string =>
  `<text x="${fixed(x)}" y="${fixed(y)}" text-anchor="${anchor}" font-size="${size}">${escaped(content)}</text>`;

const escaped = (content: string): string =>
  content.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');
