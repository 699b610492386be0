import type { EChartsOption, SeriesOption } from 'echarts';
import { z } from 'zod';
import { estimateOverSeeds, estimateText } from '../comparison/seed-estimates.ts';
import type { SeedEstimate } from '../comparison/seed-estimates.ts';
import { range } from '../numerics/arithmetic.ts';
import { interpolate } from '../numerics/interpolation.ts';
import type { Point } from '../numerics/interpolation.ts';
import { colorAt, line } from '../report/charts/options.ts';
import { measuredValues } from '../report/run-data.ts';
import type { CompareAxis, ComparePage } from './api.ts';
import type { ComparedMetric, ComparedRun } from './compared-run.ts';
import { MAX_COMPARED } from './limits.ts';

export const compareQuerySchema = z.object({
  runs: z
    .string()
    .transform((text) => text.split(',').filter((id) => id !== ''))
    .pipe(z.array(z.string().max(200)).min(1).max(MAX_COMPARED)),
  axis: z.enum(['rollouts', 'tokens', 'seconds', 'epochs']).default('rollouts'),
  by: z.enum(['run', 'arm']).default('run'),
});
type CompareQuery = Omit<z.infer<typeof compareQuerySchema>, 'runs'>;

const axisTitles: Record<CompareAxis, string> = {
  rollouts: 'rollouts of the agent',
  tokens: 'tokens sampled',
  seconds: 'seconds',
  epochs: 'epochs',
};

const figures = [
  {
    id: 'compare-heldout',
    title: 'Held-out success',
    caption: 'Exact where the runs measured it so, else sampled.',
    metric: 'heldOut',
  },
  {
    id: 'compare-success',
    title: 'Success on the simulator’s tasks, p̂',
    caption: 'The band of GenEnv is .4 to .6.',
    metric: 'success',
  },
  {
    id: 'compare-difficulty',
    title: 'Difficulty of the tasks',
    caption: 'In the unit of the world.',
    metric: 'difficulty',
  },
  {
    id: 'compare-reward',
    title: 'Simulator’s reward',
    caption: 'R_env, mean over the tasks of an epoch.',
    metric: 'reward',
  },
] as const;

/** Runs, or the means of arms, over each other on an axis, and the settings in which the runs differ. */
export function comparePage(runs: readonly ComparedRun[], { axis, by }: CompareQuery): ComparePage {
  const curves = by === 'arm' ? armsOf(runs) : runs.map((run) => ({ name: run.id, runs: [run] }));
  const drawn = figures.map((figure) => ({
    ...figure,
    curves: curves.map(({ name, runs: own }) => ({
      name,
      runs: own.length,
      points: own.map((run) => pointsOf(run, axis, figure.metric)).filter((points) => points.length > 0),
    })),
  }));
  return {
    runs: runs.map(({ id, arm, state }) => ({ id, arm, state })),
    axis,
    by,
    figures: drawn.map(({ id, title, caption, curves: own }) => {
      const grid = gridOf(
        own.filter(({ points }) => points.length > 0).map(({ points }) => extentOf(points)),
      );
      return {
        id,
        title,
        caption: by === 'arm' ? `${caption} ${MEANS}` : caption,
        option: optionOf(
          axis,
          own.flatMap(({ name, points }, index) =>
            points.length === 1
              ? [curveOf(name, points[0]!, index)]
              : meanOf({ name, curves: points, grid }, index),
          ),
        ),
      };
    }),
    reached: drawn.map(({ title, curves: own }) => reachedBy(title, own)),
    curves: curves.map(({ name, runs: own }) => ({ name, runs: own.length })),
    differences: differencesOf(curves.map(({ runs: own }) => own)),
  };
}

const MEANS =
  'Mean over an arm’s runs with Student’s 95 % interval. The curve stops where its shortest run ends, which may ' +
  'still be running.';

const optionOf = (axis: CompareAxis, series: SeriesOption[]): EChartsOption => ({
  grid: { left: 52, right: 16, top: 40, bottom: 44 },
  tooltip: { trigger: 'axis', confine: true },
  legend: { type: 'scroll', top: 0 },
  xAxis: { type: 'value', name: axisTitles[axis], nameLocation: 'middle', nameGap: 28 },
  yAxis: { type: 'value', scale: true },
  series,
});

interface Curve {
  name: string;
  runs: number;
  /** Those of each run that has any. */
  points: Point[][];
}

const curveOf = (name: string, data: Point[], index: number): SeriesOption =>
  ({ ...line(name, [], { color: colorAt(index) }), data, showSymbol: data.length < 40 }) as SeriesOption;

/** Runs that differ by their seed alone: `<comparison>.<arm>.<seed>`, else those of one arm and one name. */
function armsOf(compared: readonly ComparedRun[]): { name: string; runs: ComparedRun[] }[] {
  const arms = Map.groupBy(compared, ({ id, arm }) => {
    const [, inComparison] = /^(.+)\.\d+$/.exec(id) ?? [];
    return inComparison ?? (arm === '' ? id : arm);
  });
  return [...arms].map(([name, runs]) => ({ name, runs }));
}

const GRID_POINTS = 40;

/** Where all of some curves are. */
const extentOf = (curves: readonly Point[][]): readonly [start: number, end: number] => [
  Math.max(...curves.map(firstPlace)),
  Math.min(...curves.map(lastPlace)),
];

/** Places on the axis that all means have, so that they are read beside each other. */
function gridOf(extents: readonly (readonly [start: number, end: number])[]): number[] {
  if (extents.length === 0) return [];
  const [start, end] = [
    Math.min(...extents.map(([low]) => low)),
    Math.max(...extents.map(([, high]) => high)),
  ];
  return range(GRID_POINTS + 1).map((step) => start + (step / GRID_POINTS) * (end - start));
}

const firstPlace = (points: readonly Point[]): number => points[0]![0];
const lastPlace = (points: readonly Point[]): number => points.at(-1)![0];

/** Mean and interval of several curves at a place; null if one of them does not reach it. */
function estimateAt(curves: readonly Point[][], place: number): SeedEstimate | null {
  const values = measuredValues(curves.map((points) => interpolate(points, place)));
  return values.length < curves.length ? null : estimateOverSeeds(values);
}

/** What the curves of a figure have reached where the shortest of them ends. */
function reachedBy(title: string, curves: readonly Curve[]): ComparePage['reached'][number] {
  const all = curves.flatMap(({ points }) => points);
  if (all.length === 0) return { title, at: null, values: curves.map(() => '–') };
  const at = Math.min(...all.map(lastPlace));
  return {
    title,
    at,
    values: curves.map(({ points, runs }) => {
      const estimate = estimateAt(points, at);
      if (estimate === null) return '–';
      const runsText = points.length < runs ? ` (${points.length} of ${runs} runs)` : '';
      return `${estimateText(estimate)}${runsText}`;
    }),
  };
}

/** The mean of several curves and its interval, where all of them are. */
function meanOf(
  { name, curves, grid }: { name: string; curves: readonly Point[][]; grid: readonly number[] },
  index: number,
): SeriesOption[] {
  if (curves.length === 0) return [];
  const [start, end] = extentOf(curves);
  const places = new Set([start, ...grid.filter((used) => used > start && used < end), end]);
  const means = [...places].flatMap((used): [number, number, number | null, number | null][] => {
    const estimate = estimateAt(curves, used);
    // The interval is for the tool tip.
    return estimate === null ? [] : [[used, estimate.mean, estimate.low, estimate.high]];
  });
  const bound = (side: 2 | 3): Point[] =>
    means.flatMap((mean): Point[] => (mean[side] === null ? [] : [[mean[0], mean[side]]]));
  const edge = {
    ...line(name, [], { color: colorAt(index), width: 1, dashed: true }),
    tooltip: { show: false },
  };
  return [
    { ...line(name, [], { color: colorAt(index), width: 3 }), data: means, showSymbol: means.length === 1 },
    { ...edge, data: bound(2), showSymbol: false },
    { ...edge, data: bound(3), showSymbol: false },
  ] as SeriesOption[];
}

const pointsOf = ({ epochs }: ComparedRun, axis: CompareAxis, metric: ComparedMetric): Point[] =>
  epochs.flatMap(({ used, reached }): Point[] => {
    const [place, value] = [used[axis], reached[metric]];
    return place === null || value === null ? [] : [[place, value]];
  });

const MAX_DIFFERENCES = 300;
const MAX_VALUE_CHARS = 200;

/** @param curves the runs of each */
function differencesOf(curves: readonly (readonly ComparedRun[])[]): ComparePage['differences'] {
  const names = [...new Set(curves.flat().flatMap(({ settings }) => [...settings.keys()]))];
  return (
    names
      // A group of settings that some runs have and others do not stands there by its members.
      .filter((field) => !names.some((longer) => longer.startsWith(`${field}.`)))
      .map((field) => ({
        field,
        values: curves.map((runs) =>
          [...new Set(runs.map(({ settings }) => valueOf(settings, field)))].join(', '),
        ),
      }))
      .filter(({ values }) => new Set(values).size > 1)
      .slice(0, MAX_DIFFERENCES)
      .map(({ field, values }) => ({ field, values: values.map(cut) }))
  );
}

const cut = (text: string): string =>
  text.length <= MAX_VALUE_CHARS ? text : `${text.slice(0, MAX_VALUE_CHARS)}…`;

/** A setting that is off, or that belongs to a group that is, is `none`. */
const valueOf = (settings: ReadonlyMap<string, string>, field: string): string => {
  const value = settings.get(field);
  return value === undefined || value === 'null' ? 'none' : value;
};
