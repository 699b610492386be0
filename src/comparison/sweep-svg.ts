import { runMetrics } from './run-metrics.ts';
import { valueText } from './seed-estimates.ts';
import {
  COLORS,
  coordinate,
  legendEntry,
  line,
  positionOf,
  polyline,
  scaleOf,
  tickText,
  svgFile,
  text,
  ticks,
} from './svg.ts';
import type { Sweep, SweepPoint } from './sweep.ts';

const WIDTH = 720;
const PLOT = { left: 76, right: 700, height: 276 };
/** A line of the legend, below the title. */
const LEGEND = { top: 38, row: 20 };
/** Between the points of two pairs in one comparison, so that their intervals stand side by side. */
const SPACING = 5;

/** The sweep as a figure: a line for each pair of arms, with the interval of each point, and the line of no gain. */
export function sweepSvg({ measure, pairs, points }: Sweep): string {
  const { title, unit } = runMetrics[measure];
  const ends = points.flatMap(({ difference: { mean, low, high } }) => [mean, low ?? mean, high ?? mean]);
  const xScale = scaleOf(0, Math.max(...points.map(({ p0 }) => p0)));
  const yScale = scaleOf(Math.min(0, ...ends), Math.max(0, ...ends));
  const top = LEGEND.top + LEGEND.row * pairs.length + 12;
  const bottom = top + PLOT.height;
  const height = bottom + 60;
  const x = (value: number): number => positionOf(value, xScale, PLOT.left, PLOT.right);
  const y = (value: number): number => positionOf(value, yScale, bottom, top);
  const figure = {
    width: WIDTH,
    height,
    title: `Difference in ${title} by the success on the first tasks`,
    fontSize: 13,
  };
  return svgFile(figure, [
    text(PLOT.left, 24, `Difference in ${title}`, { size: 15 }),
    ...ticks(yScale).flatMap((value) => [
      line([PLOT.left, y(value)], [PLOT.right, y(value)], value === 0 ? '#333333' : '#e0e0e0'),
      text(PLOT.left - 8, y(value) + 4, valueText(value, unit), { anchor: 'end' }),
    ]),
    ...ticks(xScale).map((value) =>
      text(x(value), bottom + 20, tickText(value, xScale), { anchor: 'middle' }),
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
      const means = own.map(({ p0, difference }) => [shifted(p0), y(difference.mean)] as const);
      return [
        ...legendEntry(PLOT.left, row, color, `${arm} − ${against}`),
        polyline(means, color, 'stroke-width="1.5"'),
        ...own.flatMap((point) => pointMarks(point, shifted, y, color)),
      ];
    }),
  ]);
}

function pointMarks(
  { p0, difference: { mean, low, high } }: SweepPoint,
  x: (value: number) => number,
  y: (value: number) => number,
  color: string,
): string[] {
  const circle = `<circle cx="${coordinate(x(p0))}" cy="${coordinate(y(mean))}" r="4" fill="${color}"/>`;
  return low === null || high === null
    ? [circle]
    : [line([x(p0), y(low)], [x(p0), y(high)], color, 2), circle];
}
