import type { EChartsOption, SeriesOption } from 'echarts';
import { roundTo } from '../numerics/arithmetic.ts';
import { colorAt } from '../report/charts/options.ts';
import type { Chart } from '../report/charts/options.ts';
import type { Summary } from './summary.ts';

interface SeedCurve {
  arm: string;
  points: [used: number, score: number][];
}

/** Every seed's learning curve, a line each, along rollouts and each other axis. */
export function seedCharts({ arms, axes }: Pick<Summary, 'arms' | 'axes'>): Chart[] {
  const byRollouts = arms.flatMap(({ arm, runs }) =>
    runs.map(({ curve }): SeedCurve => ({
      arm,
      points: curve.map(({ rollouts, score }) => [rollouts, roundTo(score, 4)]),
    })),
  );
  const names = arms.map(({ arm }) => arm);
  return [
    seedChart('rollouts', 'rollouts of the agent', names, byRollouts),
    ...axes.map((axis) =>
      seedChart(
        axis.name,
        axis.title,
        names,
        axis.arms.flatMap(({ arm, runs }) =>
          runs.map(({ curve }): SeedCurve => ({
            arm,
            points: curve.map(({ used, score }) => [used, roundTo(score, 4)]),
          })),
        ),
      ),
    ),
  ];
}

function seedChart(id: string, title: string, arms: readonly string[], curves: readonly SeedCurve[]): Chart {
  return {
    id: `seeds-${id}`,
    title: `Held-out success against ${title}`,
    caption: 'A line for each seed; a click on an arm hides it.',
    option: byQuantity(
      arms,
      curves.map(({ arm, points }): SeriesOption => ({
        type: 'line',
        name: arm,
        data: points,
        color: colorAt(arms.indexOf(arm)),
        // A single point, as of an arm that uses nothing, is seen only by its symbol.
        showSymbol: points.length < 2,
        lineStyle: { width: 1.2 },
      })),
      { name: title },
      { min: 0, max: 1, interval: 0.2 },
    ),
  };
}

/** A chart whose horizontal axis is a quantity that differs from run to run. Each series has the name of its arm. */
export const byQuantity = (
  arms: readonly string[],
  series: SeriesOption[],
  xAxis: { name: string; max?: number; interval?: number },
  yAxis: { min: number; max: number; interval: number } | { scale: true },
): EChartsOption => ({
  animation: false,
  // Half of the last number stands right of the plot.
  grid: { left: 8, right: 30, top: 38, bottom: 24, containLabel: true },
  legend: {
    data: [...arms],
    top: 0,
    left: 0,
    itemWidth: 14,
    itemHeight: 8,
    itemGap: 14,
    type: 'scroll',
    padding: [4, 0],
  },
  tooltip: { trigger: 'item', confine: true },
  xAxis: {
    type: 'value',
    min: 0,
    nameLocation: 'middle',
    nameGap: 24,
    axisTick: { show: false },
    ...xAxis,
  },
  yAxis: { type: 'value', axisTick: { show: false }, ...yAxis },
  series,
});
