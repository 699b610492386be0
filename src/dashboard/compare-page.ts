import type { EChartsOption, SeriesOption } from 'echarts';
import { z } from 'zod';
import { scoreAt } from '../comparison/learning-curve.ts';
import { studentInterval } from '../numerics/student.ts';
import { colorAt, line } from '../report/charts/options.ts';
import { measured } from '../report/run-data.ts';
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
  return {
    runs: runs.map(({ id, arm, state }) => ({ id, arm, state })),
    axis,
    by,
    figures: figures.map(({ id, title, caption, metric }) => ({
      id,
      title,
      caption: by === 'arm' ? `${caption} Mean over an arm’s runs with Student’s 95 % interval.` : caption,
      option: optionOf(
        axis,
        curves.flatMap(({ name, runs: own }, index) => {
          const points = own.map((run) => pointsOf(run, axis, metric));
          return points.length === 1 ? [curveOf(name, points[0]!, index)] : meanOf(name, points, index);
        }),
      ),
    })),
    curves: curves.map(({ name }) => name),
    differences: differencesOf(curves.map(({ runs: own }) => own)),
  };
}

const optionOf = (axis: CompareAxis, series: SeriesOption[]): EChartsOption => ({
  grid: { left: 52, right: 16, top: 40, bottom: 44 },
  tooltip: { trigger: 'axis' },
  legend: { type: 'scroll', top: 0 },
  xAxis: { type: 'value', name: axisTitles[axis], nameLocation: 'middle', nameGap: 28 },
  yAxis: { type: 'value', scale: true },
  series,
});

type Point = [used: number, value: number];

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

/** The mean of several curves and its interval, up to where the shortest ends. */
function meanOf(name: string, curves: readonly Point[][], index: number): SeriesOption[] {
  const present = curves.filter((points) => points.length > 0);
  if (present.length === 0) return [];
  const end = Math.min(...present.map((points) => points.at(-1)![0]));
  const start = Math.max(...present.map((points) => points[0]![0]));
  const bounds = Array.from({ length: GRID_POINTS + 1 }, (_, step) => {
    const used = start + (step / GRID_POINTS) * (end - start);
    const values = present.map((points) =>
      scoreAt(
        points.map(([rollouts, score]) => ({ rollouts, score })),
        used,
      ),
    );
    return { used, interval: studentInterval(measured(values)) };
  });
  const bound = (side: 'mean' | 'low' | 'high'): Point[] =>
    bounds.flatMap(({ used, interval }): Point[] => {
      const value = interval?.[side] ?? null;
      return value === null ? [] : [[used, value]];
    });
  const edge = {
    ...line(name, [], { color: colorAt(index), width: 1, dashed: true }),
    tooltip: { show: false },
  };
  return [
    { ...line(name, [], { color: colorAt(index), width: 3 }), data: bound('mean'), showSymbol: false },
    { ...edge, data: bound('low'), showSymbol: false },
    { ...edge, data: bound('high'), showSymbol: false },
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
          [...new Set(runs.map(({ settings }) => valueOf(settings, field)))]
            .join(', ')
            .slice(0, MAX_VALUE_CHARS),
        ),
      }))
      .filter(({ values }) => new Set(values).size > 1)
      .slice(0, MAX_DIFFERENCES)
  );
}

/** A setting that is off, or that belongs to a group that is, is `none`. */
const valueOf = (settings: ReadonlyMap<string, string>, field: string): string => {
  const value = settings.get(field);
  return value === undefined || value === 'null' ? 'none' : value;
};
