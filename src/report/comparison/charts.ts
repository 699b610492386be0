import type { CrossPlaySummary } from '../../comparison/cross-play-summary.ts';
import type { Courses } from '../../comparison/arm-summary.ts';
import type { Summary } from '../../comparison/summary.ts';
import { TARGET_BAND } from '../../coevolution/in-band.ts';
import { colorAt, heatMap, line, marked, overEpochs, ribbon, shaded, unlessEmpty } from '../charts/parts.ts';
import type { Chart } from '../charts/parts.ts';
import { probeCharts } from './probe-charts.ts';
import { trailingMean } from '../statistics.ts';

/** The figures of a comparison; one that nothing was measured for is not there. */
export function comparisonCharts(summary: Summary): {
  learning: Chart[];
  curriculum: Chart[];
  crossPlay: Chart[];
  probes: Chart[];
} {
  return {
    learning: [learningCurves(summary)].flatMap(unlessEmpty),
    curriculum: curriculum(summary).flatMap(unlessEmpty),
    crossPlay: summary.crossPlay.map(matrix),
    probes: summary.probes.flatMap(probeCharts),
  };
}

/** Every arm's mean with its interval, at the same numbers of rollouts. */
function learningCurves({ arms, threshold, rollouts: upTo }: Summary): Chart {
  const rollouts = (arms[0]?.curve ?? []).map((point) => point.rollouts);
  const series = arms.flatMap(({ arm, curve }, index) => {
    const at = (value: (point: (typeof curve)[number]) => number | null) =>
      rollouts.map((place) => curve.filter((point) => point.rollouts === place).map(value)[0] ?? null);
    const mean = {
      ...line(
        arm,
        at((point) => point.mean),
        { color: colorAt(index), width: 3 },
      ),
      showSymbol: true,
    };
    return [
      ...ribbon(
        arm,
        at(({ low }) => low),
        at(({ high }) => high),
        colorAt(index),
      ),
      index === 0 ? marked(mean, threshold, `threshold ${threshold}`) : mean,
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

function curriculum({ arms, epochs }: Summary): Chart[] {
  const rows = Array.from({ length: epochs }, (_, index) => ({ epoch: index + 1 }));
  const chart = (
    id: string,
    title: string,
    caption: string,
    course: keyof Courses,
    axes: { min?: number; max?: number } = {},
  ): Chart => ({
    id,
    title,
    caption,
    option: overEpochs(
      rows,
      arms.map(({ arm, courses }, index) =>
        line(arm, trailingMean(courses[course]), { color: colorAt(index) }),
      ),
      axes,
    ),
  });
  const success = chart(
    'success',
    'Success on the arm’s own tasks',
    '5-epoch means over the seeds. A band by itself is no learning: read it beside the learning curves.',
    'success',
    { min: 0, max: 1 },
  );
  const [first, ...others] = [success.option.series ?? []].flat();
  return [
    first === undefined
      ? success
      : {
          ...success,
          option: {
            ...success.option,
            series: [shaded(first, [TARGET_BAND.low, TARGET_BAND.high], 'band'), ...others],
          },
        },
    chart(
      'difficulty',
      'Difficulty asked for',
      'Mean difficulty of the valid tasks, in the world’s own unit.',
      'difficulty',
      { min: 0 },
    ),
    chart(
      'length',
      'Length of correct answers',
      'Tokens. Only correct answers count: a wrong one may be of any length.',
      'correctLength',
      { min: 0 },
    ),
    chart(
      'informative',
      'Informative groups',
      'Share of tasks that were solved sometimes, not always or never.',
      'informative',
      { min: 0, max: 1 },
    ),
    chart('unsolved', 'Tasks never solved', 'Share of tasks with k = 0.', 'unsolved', { min: 0, max: 1 }),
    chart('solved', 'Tasks always solved', 'Share of tasks with k = n.', 'solved', { min: 0, max: 1 }),
  ];
}

function matrix({ arm, seeds, epochs, rates }: CrossPlaySummary): Chart {
  const names = epochs.map(String);
  return {
    id: `cross-play-${arm}`,
    title: `Cross-play: ${arm}`,
    caption: `Success of each agent on each simulator’s tasks, mean over ${seeds.length === 1 ? 'one seed' : `${seeds.length} seeds`}. Co-evolution darkens upwards and pales to the right.`,
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
