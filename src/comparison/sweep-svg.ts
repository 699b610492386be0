import { range } from '../numerics/arithmetic.ts';
import { runMetrics } from './run-metrics.ts';
import { valueText } from './seed-estimates.ts';
import type { Sweep, SweepPoint } from './sweep.ts';

const [WIDTH, HEIGHT] = [720, 400];
const PLOT = { left: 76, right: 700, top: 64, bottom: 340 };
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
  const x = (value: number): number => place(value, across, PLOT.left, PLOT.right);
  const y = (value: number): number => place(value, up, PLOT.bottom, PLOT.top);
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" font-family="sans-serif" font-size="13" role="img">`,
    `<title>${escaped(`Difference in ${title} by the success on the first tasks`)}</title>`,
    `<rect width="${WIDTH}" height="${HEIGHT}" fill="#ffffff"/>`,
    text(PLOT.left, 24, `Difference in ${title}`, { size: 15 }),
    ...ticks(up).flatMap((value) => [
      line([PLOT.left, y(value)], [PLOT.right, y(value)], value === 0 ? '#333333' : '#e0e0e0'),
      text(PLOT.left - 8, y(value) + 4, valueText(value, unit), { anchor: 'end' }),
    ]),
    ...ticks(across).map((value) => text(x(value), PLOT.bottom + 20, value.toFixed(2), { anchor: 'middle' })),
    text(
      (PLOT.left + PLOT.right) / 2,
      PLOT.bottom + 44,
      'p0: success on the first epoch’s tasks of the baseline',
      {
        anchor: 'middle',
      },
    ),
    ...pairs.flatMap(({ arm, against }, index) => {
      const own = points.filter((point) => point.arm === arm && point.against === against);
      const color = COLORS[index % COLORS.length]!;
      const left = PLOT.left + index * 150;
      return [
        `<rect x="${left}" y="38" width="12" height="12" fill="${color}"/>`,
        text(left + 18, 49, `${arm} − ${against}`),
        `<polyline points="${own.map(({ p0, difference }) => `${fixed(x(p0))},${fixed(y(difference.mean))}`).join(' ')}" fill="none" stroke="${color}" stroke-width="2"/>`,
        ...own.flatMap((point) => pointMarks(point, x, y, color)),
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
  return low === null || high === null ? [circle] : [line([x(p0), y(low)], [x(p0), y(high)], color), circle];
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

const fixed = (value: number): string => value.toFixed(1);

const line = ([x1, y1]: [number, number], [x2, y2]: [number, number], color: string): string =>
  `<line x1="${fixed(x1)}" y1="${fixed(y1)}" x2="${fixed(x2)}" y2="${fixed(y2)}" stroke="${color}"/>`;

const text = (
  x: number,
  y: number,
  content: string,
  { anchor = 'start', size = 13 }: { anchor?: 'start' | 'middle' | 'end'; size?: number } = {},
): string =>
  `<text x="${fixed(x)}" y="${fixed(y)}" text-anchor="${anchor}" font-size="${size}">${escaped(content)}</text>`;

const escaped = (content: string): string =>
  content.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');
