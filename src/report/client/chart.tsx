import type { EChartsOption } from 'echarts';
import { useEffect, useRef, useState } from 'preact/hooks';
import type { Chart } from '../charts/options.ts';
import { ChartDrawing, onColorChange } from './chart-drawing.ts';

type OnEpoch = (epoch: number) => void;

/** Counts up whenever the reader's colours change, or the page goes to paper: figures are then drawn again. */
function useColorScheme(): number {
  const [changes, setChanges] = useState(0);
  useEffect(() => onColorChange(() => setChanges((count) => count + 1)), []);
  return changes;
}

/** A figure with its title and what it should look like. A click on an epoch calls `onEpoch`. */
export function Figure({ chart, onEpoch }: { chart: Chart; onEpoch?: OnEpoch | undefined }) {
  const { id, title, caption, size = '', option } = chart;
  return (
    <figure class={`panel ${size}`}>
      <h3>{title}</h3>
      <Drawing id={id} title={title} option={option} onEpoch={onEpoch} />
      <figcaption>{caption}</figcaption>
    </figure>
  );
}

export const Figures = ({ charts, onEpoch }: { charts: readonly Chart[]; onEpoch?: OnEpoch | undefined }) =>
  charts.length === 0 ? null : (
    <div class="figures">
      {charts.map((chart) => (
        <Figure key={chart.id} chart={chart} onEpoch={onEpoch} />
      ))}
    </div>
  );

interface DrawingProps {
  id: string;
  title: string;
  option: EChartsOption;
  onEpoch?: OnEpoch | undefined;
}

function Drawing({ id, title, option, onEpoch }: DrawingProps) {
  const element = useRef<HTMLDivElement>(null);
  const drawing = useRef<ChartDrawing | null>(null);
  const scheme = useColorScheme();
  useEffect(() => {
    const drawn = new ChartDrawing(element.current!, (epoch) => onEpoch?.(epoch));
    drawing.current = drawn;
    return () => drawn.dispose();
  }, [scheme]);
  useEffect(() => drawing.current?.show(option), [scheme, option]);
  return <div class="chart" id={`chart-${id}`} ref={element} role="img" aria-label={title} />;
}
