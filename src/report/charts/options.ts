import type { EChartsOption, SeriesOption } from 'echarts';
import type { Retune } from '../../runs/run-folder.ts';
import { settingsText } from '../../runs/run-overview.ts';
import type { EpochRow } from '../run-data.ts';

/**
 * One figure. Options are plain JSON: colours are names of the style sheet (`$blue`), which the page looks up
 * in the reader's scheme.
 */
export interface Chart {
  id: string;
  title: string;
  caption: string;
  size?: 'wide' | 'third';
  option: EChartsOption;
}

export type Values = (number | null)[];

const palette = [
  '$blue',
  '$orange',
  '$green',
  '$purple',
  '$red',
  '$teal',
  '$gold',
  '$pink',
  '$olive',
  '$slate',
];

/** Colour of the index-th of several like things. */
export const colorAt = (index: number): string => palette[index % palette.length] ?? '$blue';

/** Each value plus its spread times a factor; null if either is null. */
export const addSpread = (values: Values, spreads: Values, factor: number): Values =>
  combine(values, spreads, (value, spread) => value + factor * spread);

/** Combines two curves value by value; null if either is null. */
export const combine = (left: Values, right: Values, join: (left: number, right: number) => number): Values =>
  left.map((leftValue, index) => {
    const rightValue = right[index] ?? null;
    return leftValue === null || rightValue === null ? null : join(leftValue, rightValue);
  });

interface LineStyle {
  color: string;
  /** Fills what is under the line. */
  area?: boolean;
  dashed?: boolean;
  width?: number;
  stack?: string;
}

export function line(
  name: string,
  data: Values,
  { color, area = false, dashed = false, width = 2, stack }: LineStyle,
): SeriesOption {
  return {
    type: 'line',
    name,
    data,
    color,
    connectNulls: true,
    symbol: 'circle',
    symbolSize: 6,
    showSymbol: data.filter((value) => value !== null).length < 3,
    lineStyle: { width: area && stack !== undefined ? 1 : width, ...(dashed ? { type: 'dashed' } : {}) },
    ...(area ? { areaStyle: { opacity: stack === undefined ? 0.12 : 0.7 } } : {}),
    ...(stack === undefined ? {} : { stack }),
  };
}

export const points = (name: string, data: Values, color: string): SeriesOption => ({
  type: 'scatter',
  name,
  data,
  color,
  symbolSize: 5,
  itemStyle: { opacity: 0.55 },
});

/** A shaded range between two curves: what lies between is stacked on an invisible lower one. */
export function ribbon(name: string, low: Values, high: Values, color: string): SeriesOption[] {
  const invisible = {
    type: 'line',
    color,
    connectNulls: true,
    symbol: 'none',
    lineStyle: { opacity: 0 },
  } as const;
  const height = combine(high, low, (above, below) => above - below);
  return [
    { ...invisible, name: `${name}, low`, data: low, stack: name, stackStrategy: 'all' },
    {
      ...invisible,
      name: `${name}, range`,
      data: height,
      stack: name,
      stackStrategy: 'all',
      areaStyle: { opacity: 0.15 },
      tooltip: { show: false },
    },
    { ...invisible, name: `${name}, high`, data: high },
  ];
}

/** Shades a range of y behind a series. */
export const shadeBand = (
  series: SeriesOption,
  [from, to]: readonly [number, number],
  label: string,
): SeriesOption => ({
  ...series,
  markArea: {
    silent: true,
    itemStyle: { color: '$band', opacity: 0.16 },
    label: { position: 'insideBottomRight', color: '$muted', fontSize: 11 },
    data: [[{ name: label, yAxis: from }, { yAxis: to }]],
  },
});

/** Marks a level across the chart. */
export const markLevel = (series: SeriesOption, level: number, label: string): SeriesOption => ({
  ...series,
  markLine: {
    silent: true,
    symbol: 'none',
    lineStyle: { color: '$muted', type: 'dashed', width: 1 },
    // At the start: what is measured comes to the level towards the end, and would run through the label.
    label: { formatter: label, position: 'insideStartTop', color: '$muted', fontSize: 11 },
    data: [{ yAxis: level }],
  },
});

interface Axes {
  name?: string;
  min?: number;
  max?: number;
  log?: boolean;
  bars?: boolean;
}

const grid = { left: 8, right: 14, top: 38, bottom: 6, containLabel: true };

/** A chart over epochs. Series whose name has a comma belong to another one and stay out of the legend. */
export function overEpochs(
  rows: readonly Pick<EpochRow, 'epoch'>[],
  series: SeriesOption[],
  { name, min, max, log = false, bars = false }: Axes = {},
): EChartsOption {
  const legend = series.map(({ name: label }) => String(label)).filter((label) => !label.includes(', '));
  const shares = min === 0 && max === 1;
  return {
    animation: false,
    grid: { ...grid, top: legend.length > 1 ? grid.top : 14 },
    legend: {
      data: legend,
      top: 0,
      left: 0,
      itemWidth: 14,
      itemHeight: 8,
      itemGap: 14,
      type: 'scroll',
      padding: [4, 0],
      show: legend.length > 1,
    },
    tooltip: { trigger: 'axis', confine: true },
    xAxis: {
      type: 'category',
      data: rows.map(({ epoch }) => String(epoch)),
      boundaryGap: bars,
      axisTick: { show: false },
      axisLabel: { hideOverlap: true },
    },
    yAxis: {
      type: log ? 'log' : 'value',
      scale: min === undefined && !bars,
      splitNumber: 4,
      ...(name === undefined ? {} : { name, nameTextStyle: { align: 'left' } }),
      ...(min === undefined ? {} : { min }),
      ...(max === undefined ? {} : { max }),
      ...(shares ? { interval: 0.2 } : {}),
    },
    series,
  };
}

interface Cells {
  columns: string[];
  rows: string[];
  cells: [number, number, number | null][];
  max: number;
  valueName: string;
  axes?: [string, string];
  /** Writes the value into each cell. */
  labels?: boolean;
}

export function heatMap({
  columns,
  rows,
  cells,
  max,
  valueName,
  axes,
  labels = false,
}: Cells): EChartsOption {
  return {
    animation: false,
    grid: { ...grid, top: axes === undefined ? 10 : 26, bottom: 34 },
    tooltip: { confine: true },
    xAxis: {
      type: 'category',
      data: columns,
      axisTick: { show: false },
      axisLabel: { hideOverlap: true },
      ...(axes ? { name: axes[0], nameLocation: 'middle', nameGap: 24 } : {}),
    },
    yAxis: {
      type: 'category',
      data: rows,
      axisTick: { show: false },
      splitLine: { show: false },
      ...(axes ? { name: axes[1], nameTextStyle: { align: 'right' } } : {}),
    },
    visualMap: {
      min: 0,
      max,
      calculable: false,
      orient: 'horizontal',
      right: 8,
      bottom: 0,
      itemHeight: 90,
      itemWidth: 8,
      text: [String(max), '0'],
      textStyle: { color: '$muted', fontSize: 11 },
      inRange: { color: ['$heat-0', '$heat-1', '$heat-2', '$heat-3'] },
    },
    series: [
      {
        type: 'heatmap',
        name: valueName,
        data: cells,
        itemStyle: { borderWidth: 0.5, borderColor: '$panel' },
        label: { show: labels, fontSize: 10 },
      },
    ],
  };
}

const hasValue = ({ data }: SeriesOption): boolean =>
  Array.isArray(data) && data.some((value) => (Array.isArray(value) ? value[2] : value) !== null);

/** The chart, unless nothing in it was measured. */
export function unlessEmpty(chart: Chart): Chart[] {
  const allSeries = [chart.option.series ?? []].flat();
  return allSeries.some(hasValue) ? [chart] : [];
}

/** Ids of the charts that mark a change of settings. */
const chartsWithRetunes: ReadonlySet<string> = new Set(['success-rate', 'difficulty', 'held-out']);

/** Marks the epochs from which settings were changed during the run. */
export function withRetunes(chart: Chart, rows: readonly EpochRow[], retunes: readonly Retune[]): Chart {
  if (!chartsWithRetunes.has(chart.id)) return chart;
  const shown = new Set((chart.option.xAxis as { data: string[] }).data);
  const data = retunes.flatMap(({ fromEpoch, set }) => {
    const row = rows.find(({ epoch }) => epoch >= fromEpoch && shown.has(String(epoch)));
    return row === undefined ? [] : [{ xAxis: String(row.epoch), label: { formatter: settingsText(set) } }];
  });
  if (data.length === 0) return chart;
  const markLine = {
    silent: true,
    symbol: 'none',
    lineStyle: { color: '$muted', type: 'dotted', width: 1 },
    label: { position: 'insideEndTop', color: '$muted', fontSize: 10 },
    data,
  };
  const [first, ...rest] = [chart.option.series ?? []].flat();
  return {
    ...chart,
    option: { ...chart.option, series: [{ ...first, markLine } as SeriesOption, ...rest] },
  };
}
