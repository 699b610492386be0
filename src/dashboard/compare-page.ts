import type { EChartsOption, SeriesOption } from 'echarts';
import { z } from 'zod';
import { scoreAt } from '../comparison/learning-curve.ts';
import { armName } from '../config/arms.ts';
import { studentInterval } from '../numerics/student.ts';
import { colorAt, line } from '../report/charts/options.ts';
import { heldOutOf, measured } from '../report/run-data.ts';
import type { EpochRow } from '../report/run-data.ts';
import type { ViewedRun } from '../report/run-view.ts';
import type { CompareAxis, ComparePage } from './api.ts';
import { MAX_COMPARED } from './limits.ts';
import { fieldsOf } from './setting-fields.ts';

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
    metric: heldOutOf,
  },
  {
    id: 'compare-success',
    title: 'Success on the simulator’s tasks, p̂',
    caption: 'The band of GenEnv is .4 to .6.',
    metric: (row: EpochRow) => row.metrics['env/success_rate'] ?? null,
  },
  {
    id: 'compare-difficulty',
    title: 'Difficulty of the tasks',
    caption: 'In the unit of the world.',
    metric: (row: EpochRow) => row.metrics['env/difficulty'] ?? null,
  },
  {
    id: 'compare-reward',
    title: 'Simulator’s reward',
    caption: 'R_env, mean over the tasks of an epoch.',
    metric: (row: EpochRow) => row.metrics['env/reward'] ?? null,
  },
] as const;

/** Runs, or the means of arms, over each other on an axis, and the settings in which the runs differ. */
export function comparePage(viewed: readonly ViewedRun[], { axis, by }: CompareQuery): ComparePage {
  const curves = by === 'arm' ? armsOf(viewed) : viewed.map((run) => ({ name: run.view.runId, runs: [run] }));
  return {
    runs: viewed.map(({ view, run }) => ({
      id: view.runId,
      arm: run.experiment === null ? '' : armName(run.experiment.arm),
      state: view.state.text,
    })),
    axis,
    by,
    figures: figures.map(({ id, title, caption, metric }) => ({
      id,
      title,
      caption: by === 'arm' ? `${caption} Mean over an arm’s runs with Student’s 95 % interval.` : caption,
      option: optionOf(
        axis,
        curves.flatMap(({ name, runs }, index) => {
          const points = runs.map(({ run }) => pointsOf(run.rows, axis, metric));
          return points.length === 1 ? [curveOf(name, points[0]!, index)] : meanOf(name, points, index);
        }),
      ),
    })),
    curves: curves.map(({ name }) => name),
    differences: differencesOf(curves.map(({ runs }) => runs)),
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
function armsOf(viewed: readonly ViewedRun[]): { name: string; runs: ViewedRun[] }[] {
  const arms = Map.groupBy(viewed, ({ view, run }) => {
    const [, inComparison] = /^(.+)\.\d+$/.exec(view.runId) ?? [];
    return inComparison ?? (run.experiment === null ? view.runId : armName(run.experiment.arm));
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

/** What a run has used by the end of each epoch, and what it had reached there. */
function pointsOf(
  rows: readonly EpochRow[],
  axis: CompareAxis,
  metric: (row: EpochRow) => number | null,
): Point[] {
  let [rollouts, seconds] = [0, 0];
  return rows.flatMap((row): Point[] => {
    rollouts += row.metrics['rollouts/count'] ?? 0;
    seconds += row.time.epoch ?? 0;
    const tokens = row.epoch === 0 ? 0 : (row.metrics.num_tokens ?? null);
    const used = { rollouts, seconds, tokens, epochs: row.epoch }[axis];
    const value = metric(row);
    return used === null || value === null ? [] : [[used, value]];
  });
}

const MAX_DIFFERENCES = 300;
const MAX_VALUE_CHARS = 200;

/** @param curves the runs of each */
function differencesOf(curves: readonly (readonly ViewedRun[])[]): ComparePage['differences'] {
  const settings = curves.map((runs) =>
    runs.map(({ run }) => fieldsOf(run.experiment ?? run.experimentFile?.experiment)),
  );
  const names = [...new Set(settings.flat().flatMap((fields) => [...fields.keys()]))];
  return (
    names
      // A group of settings that some runs have and others do not stands there by its members.
      .filter((field) => !names.some((longer) => longer.startsWith(`${field}.`)))
      .map((field) => ({
        field,
        values: settings.map((runs) =>
          [...new Set(runs.map((fields) => valueOf(fields, field)))].join(', ').slice(0, MAX_VALUE_CHARS),
        ),
      }))
      .filter(({ values }) => new Set(values).size > 1)
      .slice(0, MAX_DIFFERENCES)
  );
}

/** A setting that is off, or that belongs to a group that is, is `none`. */
const valueOf = (fields: ReadonlyMap<string, string>, field: string): string => {
  const value = fields.get(field);
  return value === undefined || value === 'null' ? 'none' : value;
};
