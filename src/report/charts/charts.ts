import type { Experiment } from '../../config/experiment.ts';
import type { Retune } from '../../runs/run-folder.ts';
import type { HeldOutGrid } from '../held-out.ts';
import type { EpochRow } from '../run-data.ts';
import { costCharts, droppedCharts, guardCharts } from './guards.ts';
import { withRetunes } from './options.ts';
import type { Chart } from './options.ts';
import { frontierCharts, heldOutCharts, updateCharts } from './progress.ts';
import { roundCharts } from './rounds.ts';

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
    updates: [...roundCharts(rows, experiment), ...updateCharts(rows, experiment)],
    dropped: droppedCharts(rows),
    costs: costCharts(rows),
  };
}
