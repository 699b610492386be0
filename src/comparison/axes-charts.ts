import type { SeriesOption } from 'echarts';
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
      points: curve.map(({ rollouts, score }) => [rollouts, rounded(score)]),
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
            points: curve.map(({ used, score }) => [used, rounded(score)]),
          })),
        ),
      ),
    ),
  ];
}

const rounded = (score: number): number => Number(score.toFixed(4));

function seedChart(id: string, title: string, arms: readonly string[], curves: readonly SeedCurve[]): Chart {
  return {
    id: `seeds-${id}`,
    title: `Held-out success against ${title}`,
    caption: 'A line for each seed; a click on an arm hides it.',
    option: {
      animation: false,
      grid: { left: 8, right: 14, top: 38, bottom: 24, containLabel: true },
      legend: {
        data: [...arms],
        top: 0,
        left: 0,
        itemWidth: 14,
        itemHeight: 8,
        type: 'scroll',
        padding: [4, 0],
      },
      tooltip: { trigger: 'item', confine: true },
      xAxis: { type: 'value', min: 0, name: title, nameLocation: 'middle', nameGap: 24 },
      yAxis: { type: 'value', min: 0, max: 1, interval: 0.2 },
      series: curves.map(({ arm, points }): SeriesOption => ({
        type: 'line',
        name: arm,
        data: points,
        color: colorAt(arms.indexOf(arm)),
        // A single point, as of an arm that uses nothing, is seen only by its symbol.
        showSymbol: points.length < 2,
        lineStyle: { width: 1.2 },
      })),
    },
  };
}
