import type { EChartsOption } from 'echarts';
import type * as Echarts from 'echarts';
import { chartTheme, withColors } from './chart-theme.ts';

/** Apache ECharts, which the page loads as a script of its own. */
declare const echarts: typeof Echarts;

/** A figure in an element, in the colours that the reader has when it is made. It follows the element's size. */
export class ChartDrawing {
  readonly #chart: Echarts.ECharts;
  readonly #observer: ResizeObserver;

  /** @param onEpoch called for a click on an epoch of a figure over epochs */
  constructor(element: HTMLElement, onEpoch: (epoch: number) => void) {
    echarts.registerTheme('genenv', chartTheme());
    this.#chart = echarts.init(element, 'genenv', { renderer: 'svg' });
    this.#chart.getZr().on('click', ({ offsetX, offsetY }) => {
      const epoch = epochAt(this.#chart, [offsetX, offsetY]);
      if (epoch !== null) onEpoch(epoch);
    });
    this.#observer = new ResizeObserver(() => this.#chart.resize());
    this.#observer.observe(element);
  }

  show(option: EChartsOption): void {
    this.#chart.setOption(completed(option), { notMerge: true });
  }

  dispose(): void {
    this.#observer.disconnect();
    this.#chart.dispose();
  }
}

/** Calls back when the reader's colours change, and around printing, which is in light ones. Gives its end. */
export function onColorChange(redraw: () => void): () => void {
  const toPaper = (on: boolean) => () => {
    document.documentElement.classList.toggle('paper', on);
    redraw();
  };
  const [printed, shown] = [toPaper(true), toPaper(false)];
  const dark = matchMedia('(prefers-color-scheme: dark)');
  dark.addEventListener('change', redraw);
  addEventListener('beforeprint', printed);
  addEventListener('afterprint', shown);
  return () => {
    dark.removeEventListener('change', redraw);
    removeEventListener('beforeprint', printed);
    removeEventListener('afterprint', shown);
  };
}

interface Axis {
  name?: string;
  type?: string;
  data?: string[];
  axisLabel?: unknown;
}

/** The epoch of a figure over epochs at a point of its grid; null elsewhere. */
function epochAt(chart: Echarts.ECharts, point: [number, number]): number | null {
  const axis = (chart.getOption() as { xAxis?: Axis[] }).xAxis?.[0];
  if (axis === undefined || !['', 'epoch'].includes(axis.name ?? '') || !chart.containPixel('grid', point))
    return null;
  const [column = 0] = chart.convertFromPixel('grid', point);
  const epoch = Number(axis.data?.[Math.round(column)]);
  return Number.isInteger(epoch) ? epoch : null;
}

/** An option with the colours of the reader's scheme and the texts of its tool tips. */
function completed(plain: EChartsOption): EChartsOption {
  const option = withColors(plain) as EChartsOption & { series: object[]; xAxis: Axis; yAxis: Axis };
  Object.assign(option.tooltip ?? {}, tipOf(option));
  if (option.yAxis.type === 'log')
    option.yAxis.axisLabel = {
      formatter: (value: number) => value.toExponential().replace('e+', 'e').replace('e-', 'e−'),
    };
  for (const series of option.series) Object.assign(series, { emphasis: { disabled: true } });
  return option;
}

function tipOf({ series, xAxis, yAxis }: { series: object[]; xAxis: Axis; yAxis: Axis }): object {
  if ((series[0] as { type?: string } | undefined)?.type === 'heatmap')
    return { formatter: heatTip(xAxis, yAxis) };
  return xAxis.type === 'value' ? { formatter: placeTip(xAxis) } : { valueFormatter: shortNumber };
}

/** What ECharts tells the tool tip of a curve. */
interface TipItem {
  marker: string;
  seriesName: string;
  value: (number | null)[];
}

/** All curves at a place of a measured axis; a mean has the bounds of its interval behind it. */
const placeTip =
  (xAxis: Axis) =>
  (items: TipItem | TipItem[]): string => {
    const curves = [items].flat();
    const place = `${shortNumber(curves[0]?.value[0])} ${xAxis.name ?? ''}`;
    const rows = curves.map(({ marker, seriesName, value: [, mean, low = null, high = null] }) => {
      const interval = low === null || high === null ? '' : ` [${shortNumber(low)}, ${shortNumber(high)}]`;
      return `${marker}${escapeText(seriesName)} <b>${shortNumber(mean)}</b>${interval}`;
    });
    return [escapeText(place), ...rows].join('<br>');
  };

const heatTip =
  (xAxis: Axis, yAxis: Axis) =>
  ({ value, seriesName }: { value: number[]; seriesName: string }): string => {
    const [column = 0, row = 0, cell] = value;
    const place = `${xAxis.name ?? 'epoch'} ${xAxis.data?.[column] ?? ''}, ${yAxis.name ?? ''} ${yAxis.data?.[row] ?? ''}`;
    return `${escapeText(place)}: <b>${shortNumber(cell)}</b> ${escapeText(seriesName)}`;
  };

/** ECharts shows what a formatter gives as markup. */
const escapeText = (text: string): string =>
  text.replace(/[&<>]/g, (character) => ({ '&': '&amp;', '<': '&lt;', '>': '&gt;' })[character] ?? character);

function shortNumber(value: unknown): string {
  if (typeof value !== 'number') return '–';
  return Math.abs(value) >= 1000 ? String(Math.round(value)) : String(Number(value.toPrecision(4)));
}
