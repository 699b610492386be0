/** Draws the figures of a page whose text is markup: the element of data holds their options by id. */
import type { EChartsOption } from 'echarts';
import { ChartDrawing, onColorChange } from './chart-drawing.ts';

const options = JSON.parse(document.getElementById('charts-data')?.textContent ?? '{}') as Record<
  string,
  EChartsOption
>;
let drawings: ChartDrawing[] = [];

function draw(): void {
  for (const drawing of drawings) drawing.dispose();
  drawings = Object.entries(options).map(([id, option]) => {
    const drawing = new ChartDrawing(document.getElementById(`chart-${id}`)!, () => undefined);
    drawing.show(option);
    return drawing;
  });
}

draw();
onColorChange(draw);
