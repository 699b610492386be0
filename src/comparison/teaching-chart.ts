import type { SeriesOption } from 'echarts';
import { roundTo } from '../numerics/arithmetic.ts';
import { colorAt } from '../report/charts/options.ts';
import type { Chart } from '../report/charts/options.ts';
import type { ArmSummary } from './arm-summary.ts';
import { byQuantity } from './axes-charts.ts';

type Point = [success: number, gain: number];

/** What tasks of one success rate teach, against that rate; nothing without arms of bins. */
export function teachingCharts(arms: readonly ArmSummary[]): Chart[] {
  const bins = arms.flatMap(({ arm, type, runs, figures }) => {
    const [success, gain] = [figures.binSuccess, figures.logprobGain];
    if (type !== 'success-bin' || success === null || gain === null) return [];
    return [{ arm, mean: [roundTo(success.mean, 4), roundTo(gain.mean, 4)] as Point, seeds: pointsOf(runs) }];
  });
  if (bins.length === 0) return [];
  const series = bins.flatMap(({ arm, mean, seeds }, index): SeriesOption[] => [
    {
      type: 'scatter',
      name: arm,
      data: seeds,
      color: colorAt(index),
      symbolSize: 6,
      itemStyle: { opacity: 0.5 },
    },
    {
      type: 'scatter',
      name: arm,
      data: [mean],
      color: colorAt(index),
      symbol: 'diamond',
      symbolSize: 14,
      label: { show: true, formatter: arm, position: 'right', distance: 8, color: '$muted', fontSize: 11 },
    },
  ]);
  return [
    {
      id: 'teaching',
      title: 'What tasks teach, by their success rate',
      caption:
        'Change of the log-probability of right held-out answers over the run, in nats, against p̂ of the arm’s tasks in ' +
        'fresh attempts. A dot for each seed, a diamond for their mean.',
      option: byQuantity(
        bins.map(({ arm }) => arm),
        series,
        { max: 1, interval: 0.2, name: 'p̂: success of the initial agent on the tasks' },
        { scale: true },
      ),
    },
  ];
}

/** A point for each seed that has both. */
const pointsOf = (runs: ArmSummary['runs']): Point[] =>
  runs.flatMap(({ figures: { binSuccess, logprobGain } }): Point[] =>
    typeof binSuccess === 'number' && typeof logprobGain === 'number'
      ? [[roundTo(binSuccess, 4), roundTo(logprobGain, 4)]]
      : [],
  );
