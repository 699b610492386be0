import { range } from '../numerics/arithmetic.ts';
import { asLearningCurve } from './axes.ts';
import type { CurvePoint } from './learning-curve.ts';
import { meanCurve } from './learning-curve.ts';
import type { Summary } from './summary.ts';
import {
  COLORS,
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

const PANEL = { width: 340, height: 190, left: 48, top: 34, bottom: 40, gap: 24 };
const COLUMNS = 2;
const LEGEND = { top: 14, row: 20 };
/** More lines than these cannot be told apart. */
const MAX_ARMS = COLORS.length;
const MEAN_POINTS = 25;

interface Panel {
  title: string;
  arms: { arm: string; curves: CurvePoint[][] }[];
}

/**
 * Every seed's learning curve along rollouts and each other axis: a thin line for each seed, a thick one for their
 * mean as far as every seed goes. Of the arms it has the baseline and those of the primary comparisons.
 */
export function curvesSvg(summary: Summary): string {
  const arms = shownArms(summary);
  const panels = panelsOf(summary, arms);
  const rows = Math.ceil(panels.length / COLUMNS);
  const legend = LEGEND.top + LEGEND.row * arms.length;
  const cell = {
    width: PANEL.left + PANEL.width + PANEL.gap,
    height: PANEL.top + PANEL.height + PANEL.bottom,
  };
  const [width, height] = [COLUMNS * cell.width, legend + rows * cell.height];
  const points = panels.flatMap(({ arms: own }) => own.flatMap(({ curves }) => curves.flat()));
  const best = points.reduce((most, { score }) => Math.max(most, score), 0);
  const title = `Held-out success of ${arms.join(', ')}: a line for each seed, and their mean`;
  return svgFile({ width, height, title, fontSize: 12 }, [
    ...arms.flatMap((arm, index) =>
      legendEntry(PANEL.left, LEGEND.top + index * LEGEND.row, COLORS[index]!, arm),
    ),
    ...panels.flatMap((panel, index) => [
      `<g transform="translate(${(index % COLUMNS) * cell.width} ${legend + Math.floor(index / COLUMNS) * cell.height})">`,
      ...panelMarks(panel, best),
      '</g>',
    ]),
  ]);
}

function shownArms({ baseline, primary, arms }: Summary): string[] {
  const named = new Set([...primary.flatMap(({ arm, against }) => [arm, against]), baseline]);
  return arms
    .map(({ arm }) => arm)
    .filter((arm) => primary.length === 0 || named.has(arm))
    .slice(0, MAX_ARMS);
}

function panelsOf({ arms, axes }: Summary, shown: readonly string[]): Panel[] {
  return [
    {
      title: 'rollouts of the agent',
      arms: shown.map((arm) => ({
        arm,
        curves: arms.find((own) => own.arm === arm)!.runs.map(({ curve }) => curve),
      })),
    },
    ...axes.map(({ title, arms: along }) => ({
      title,
      arms: shown.map((arm) => ({
        arm,
        curves: along.find((own) => own.arm === arm)!.runs.map(({ curve }) => asLearningCurve(curve)),
      })),
    })),
  ];
}

function panelMarks({ title, arms }: Panel, best: number): string[] {
  const most = Math.max(
    1,
    ...arms.flatMap(({ curves }) => curves.map((curve) => curve.at(-1)?.rollouts ?? 0)),
  );
  const [xScale, yScale] = [scaleOf(0, most), scaleOf(0, best)];
  const [right, bottom] = [PANEL.left + PANEL.width, PANEL.top + PANEL.height];
  const x = (value: number): number => positionOf(value, { ...xScale, high: most }, PANEL.left, right);
  const y = (value: number): number => positionOf(value, yScale, bottom, PANEL.top);
  const path = (curve: readonly CurvePoint[], color: string, style: string): string =>
    polyline(
      curve.map(({ rollouts, score }) => [x(rollouts), y(score)]),
      color,
      style,
    );
  return [
    text(PANEL.left, PANEL.top - 12, `held-out success by ${title}`, { size: 13 }),
    ...ticks(yScale).flatMap((value) => [
      line([PANEL.left, y(value)], [right, y(value)], value === 0 ? '#333333' : '#e0e0e0'),
      text(PANEL.left - 6, y(value) + 4, tickText(value, yScale), { anchor: 'end', size: 12 }),
    ]),
    ...ticks(xScale)
      .filter((value) => value <= most)
      .map((value) => text(x(value), bottom + 18, String(value), { anchor: 'middle', size: 12 })),
    ...arms.flatMap(({ curves }, index) =>
      curves.map((curve) => path(curve, COLORS[index]!, 'stroke-width="0.8" stroke-opacity="0.45"')),
    ),
    ...arms.flatMap(({ curves }, index) => {
      const shortest = Math.min(...curves.map((curve) => curve.at(-1)?.rollouts ?? 0));
      const places = range(MEAN_POINTS).map((at) => (at / (MEAN_POINTS - 1)) * shortest);
      const mean = meanCurve(curves, places).map((point) => ({
        rollouts: point.rollouts,
        score: point.mean,
      }));
      return shortest === 0 ? [] : [path(mean, COLORS[index]!, 'stroke-width="2.2"')];
    }),
  ];
}
