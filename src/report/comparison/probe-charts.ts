import type { ProbeSummary } from '../../comparison/probe-summary.ts';
import { line, ribbon } from '../charts/parts.ts';
import type { Chart, Values } from '../charts/parts.ts';
import type { SeriesOption } from 'echarts';

const grid = { left: 8, right: 14, top: 38, bottom: 24, containLabel: true };
const overCategories = (
  categories: readonly string[],
  name: string,
  series: SeriesOption[],
  max?: number,
): Chart['option'] => ({
  animation: false,
  grid,
  legend: {
    data: series.map((one) => String(one.name)).filter((label) => !label.includes(', ')),
    top: 0,
    left: 0,
    itemWidth: 14,
    itemHeight: 8,
    itemGap: 14,
    padding: [4, 0],
  },
  tooltip: { trigger: 'axis', confine: true },
  xAxis: {
    type: 'category',
    data: [...categories],
    name,
    nameLocation: 'middle',
    nameGap: 24,
    axisTick: { show: false },
  },
  yAxis: { type: 'value', min: 0, splitNumber: 4, ...(max === undefined ? {} : { max }) },
  series,
});
const rounded = (values: Values): Values =>
  values.map((value) => (value === null ? null : Number(value.toFixed(4))));

/** The figures of an arm's probes; one that nothing was measured for is not there. */
export function probeCharts({ arm, signal, ranking }: ProbeSummary): Chart[] {
  return [
    ...(signal === null
      ? []
      : [
          {
            id: `signal-${arm}`,
            title: `Gradient signal by success rate: ${arm}`,
            caption: `Mean ‖(r − p̂) ∇ log π‖² over tasks in each tenth of p̂, in units of the agent’s mean ‖∇ log π‖², and its fit by c · p(1−p): R² ${signal.r2?.toFixed(2) ?? '–'}.`,
            option: overCategories(
              signal.bins.map(({ low, high }) => `${low.toFixed(1)}–${high.toFixed(1)}`),
              'p̂',
              [
                line('measured', rounded(signal.bins.map(({ norm }) => norm)), { color: '$blue', width: 3 }),
                line(
                  'fit',
                  rounded(
                    signal.bins.map(({ variance }) => (variance === null ? null : signal.slope * variance)),
                  ),
                  { color: '$orange', dashed: true },
                ),
              ],
            ),
          },
        ]),
    ...(ranking.length === 0
      ? []
      : [
          {
            id: `ranking-${arm}`,
            title: `Mis-ranked pairs by attempts: ${arm}`,
            caption:
              'Share of pairs of tasks that n attempts rank wrongly by R_env, what binomials say with p as uncertain as its estimate (99 % range shaded), and Theorem 1’s bound.',
            option: overCategories(
              ranking.map(({ n }) => String(n)),
              'n',
              [
                ...ribbon(
                  'expected',
                  rounded(ranking.map(({ low }) => low)),
                  rounded(ranking.map(({ high }) => high)),
                  '$orange',
                ),
                line('measured', rounded(ranking.map(({ measured }) => measured)), {
                  color: '$blue',
                  width: 3,
                }),
                line('expected', rounded(ranking.map(({ expected }) => expected)), {
                  color: '$orange',
                  dashed: true,
                }),
                line('Theorem 1', rounded(ranking.map(({ bound }) => bound)), {
                  color: '$slate',
                  dashed: true,
                }),
              ],
              1,
            ),
          },
        ]),
  ];
}
