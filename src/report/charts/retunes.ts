import type { SeriesOption } from 'echarts';
import type { Retune } from '../../store/run-folder.ts';
import { settingsText } from '../lineage.ts';
import type { EpochRow } from '../run-data.ts';
import type { Chart } from './parts.ts';

/** The charts of the whole run that tell what a change of its settings did. */
const marked: ReadonlySet<string> = new Set(['success-rate', 'difficulty', 'held-out']);

/** Marks on a chart over epochs where settings were changed under the run. */
export function withRetunes(chart: Chart, rows: readonly EpochRow[], retunes: readonly Retune[]): Chart {
  if (!marked.has(chart.id)) return chart;
  const shown = new Set((chart.option.xAxis as { data: string[] }).data);
  const data = retunes.flatMap(({ fromEpoch, set }) => {
    const at = rows.find(({ epoch }) => epoch >= fromEpoch && shown.has(String(epoch)));
    return at === undefined ? [] : [{ xAxis: String(at.epoch), label: { formatter: settingsText(set) } }];
  });
  if (data.length === 0) return chart;
  const markLine = {
    silent: true,
    symbol: 'none',
    lineStyle: { color: '$muted', type: 'dotted', width: 1 },
    label: { position: 'insideEndTop', color: '$muted', fontSize: 10 },
    data,
  };
  const [first, ...others] = [chart.option.series ?? []].flat();
  return {
    ...chart,
    option: { ...chart.option, series: [{ ...first, markLine } as SeriesOption, ...others] },
  };
}
