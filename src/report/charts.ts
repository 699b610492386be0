import type { Experiment } from '../contracts/experiment.ts';
import { costCharts, droppedCharts } from './charts/costs.ts';
import { guardCharts } from './charts/guards.ts';
import { frontierCharts, heldOutCharts } from './charts/success.ts';
import { updateCharts } from './charts/updates.ts';
import type { Chart } from './charts/parts.ts';
import type { Retune } from '../store/run-folder.ts';
import { withRetunes } from './charts/retunes.ts';
import type { HeldOutGrid } from './held-out.ts';
import type { EpochRow } from './run-data.ts';

/** The figures by section of the page. A figure without any measured value is not there. */
export interface Charts {
  frontier: Chart[];
  heldOut: Chart[];
  guards: Chart[];
  updates: Chart[];
  dropped: Chart[];
  costs: Chart[];
}

export function chartsOf(
  rows: readonly EpochRow[],
  grids: readonly HeldOutGrid[],
  experiment: Experiment | null,
  retunes: readonly Retune[] = [],
): Charts {
  return {
    frontier: frontierCharts(rows).map((chart) => withRetunes(chart, rows, retunes)),
    heldOut: heldOutCharts(rows, grids).map((chart) => withRetunes(chart, rows, retunes)),
    guards: guardCharts(rows),
    updates: updateCharts(rows, experiment),
    dropped: droppedCharts(rows),
    costs: costCharts(rows),
  };
}
