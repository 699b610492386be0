import type { SeriesOption } from 'echarts';
import { roundTo } from '../numerics/arithmetic.ts';
import {
  colorAt,
  heatMap,
  line,
  markLevel,
  overEpochs,
  ribbon,
  unlessEmpty,
} from '../report/charts/options.ts';
import type { Chart, Values } from '../report/charts/options.ts';
import { seedCharts } from './axes-charts.ts';
import { curriculumCharts } from './curriculum-charts.ts';
import type { CrossPlaySummary } from './cross-play.ts';
import type { ProbeSummary } from './probes.ts';
import type { Summary } from './summary.ts';
import { teachingCharts } from './teaching-chart.ts';
import type { SignalFit } from './theory/gradient-signal.ts';
import type { Misranking } from './theory/ranking.ts';

/** The charts of a comparison, without those that nothing was measured for. */
export function comparisonCharts(summary: Summary): {
  learning: Chart[];
  curriculum: Chart[];
  crossPlay: Chart[];
  probes: Chart[];
} {
  return {
    learning: [learningChart(summary), ...teachingCharts(summary.arms), ...seedCharts(summary)].flatMap(
      unlessEmpty,
    ),
    curriculum: curriculumCharts(summary).flatMap(unlessEmpty),
    crossPlay: summary.crossPlay.map(crossPlayChart),
    probes: summary.probes.flatMap(probeCharts),
  };
}

/** Every arm's mean with its interval, at the same numbers of rollouts. */
function learningChart({ arms, threshold, rollouts: upTo }: Summary): Chart {
  const rollouts = (arms[0]?.curve ?? []).map((point) => point.rollouts);
  const series = arms.flatMap(({ arm, curve }, index) => {
    const points = rollouts.map((place) => curve.find((point) => point.rollouts === place));
    const means = points.map((point) => point?.mean ?? null);
    const lows = points.map((point) => point?.low ?? null);
    const highs = points.map((point) => point?.high ?? null);
    const mean = { ...line(arm, means, { color: colorAt(index), width: 3 }), showSymbol: true };
    return [
      ...ribbon(arm, lows, highs, colorAt(index)),
      index === 0 ? markLevel(mean, threshold, `threshold ${threshold}`) : mean,
    ];
  });
  return {
    id: 'learning',
    title: 'Held-out success against rollouts',
    size: 'wide',
    caption: `Mean over seeds with Student’s 95 % interval, up to the ${upTo} rollouts that every run made.`,
    option: overEpochs(
      rollouts.map((epoch) => ({ epoch })),
      series,
      { min: 0, max: 1 },
    ),
  };
}

function crossPlayChart({ arm, seeds, epochs, rates }: CrossPlaySummary): Chart {
  const names = epochs.map(String);
  return {
    id: `cross-play-${arm}`,
    title: `Cross-play: ${arm}`,
    caption:
      'Success of each agent on each simulator’s tasks, mean over ' +
      `${seeds.length === 1 ? 'one seed' : `${seeds.length} seeds`}. Co-evolution darkens upwards and ` +
      'pales to the right.',
    option: heatMap({
      columns: names,
      rows: names,
      cells: rates.flatMap((row, agent) =>
        row.map((rate, simulator): [number, number, number | null] => [
          simulator,
          agent,
          rate === null ? null : Number(rate.toFixed(3)),
        ]),
      ),
      max: 1,
      valueName: 'success',
      axes: ['simulator of epoch', 'agent of epoch'],
      labels: true,
    }),
  };
}

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
    data: series.map(({ name: label }) => String(label)).filter((label) => !label.includes(', ')),
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
const shortValues = (values: Values): Values =>
  values.map((value) => (value === null ? null : roundTo(value, 4)));

const probeCharts = ({ arm, signal, ranking }: ProbeSummary): Chart[] => [
  ...(signal === null ? [] : [signalChart(arm, signal)]),
  ...(ranking.length === 0 ? [] : [rankingChart(arm, ranking)]),
];

function signalChart(arm: string, signal: SignalFit): Chart {
  const fit = signal.bins.map(({ variance }) => (variance === null ? null : signal.slope * variance));
  return {
    id: `signal-${arm}`,
    title: `Gradient signal by success rate: ${arm}`,
    caption:
      'Mean ‖(r − p̂) ∇ log π‖² over tasks in each tenth of p̂, in units of the agent’s mean ‖∇ log ' +
      `π‖², and its fit by c · p(1−p): R² ${signal.r2?.toFixed(2) ?? '–'}.`,
    option: overCategories(
      signal.bins.map(({ low, high }) => `${low.toFixed(1)}–${high.toFixed(1)}`),
      'p̂',
      [
        line('measured', shortValues(signal.bins.map(({ norm }) => norm)), { color: '$blue', width: 3 }),
        line('fit', shortValues(fit), { color: '$orange', dashed: true }),
      ],
    ),
  };
}

const rankingChart = (arm: string, ranking: readonly Misranking[]): Chart => ({
  id: `ranking-${arm}`,
  title: `Mis-ranked pairs by attempts: ${arm}`,
  caption:
    'Share of pairs of tasks that n attempts rank wrongly by R_env, what independent attempts would (99 % ' +
    'range shaded), and Theorem 1’s bound.',
  option: overCategories(
    ranking.map(({ n }) => String(n)),
    'n',
    [
      ...ribbon(
        'expected',
        shortValues(ranking.map(({ low }) => low)),
        shortValues(ranking.map(({ high }) => high)),
        '$orange',
      ),
      line('measured', shortValues(ranking.map(({ measured }) => measured)), {
        color: '$blue',
        width: 3,
      }),
      line('expected', shortValues(ranking.map(({ expected }) => expected)), {
        color: '$orange',
        dashed: true,
      }),
      line('Theorem 1', shortValues(ranking.map(({ bound }) => bound)), {
        color: '$slate',
        dashed: true,
      }),
    ],
    1,
  ),
});
