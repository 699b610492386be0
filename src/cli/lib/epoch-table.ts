import type { EpochRow } from '../../report/run-data.ts';
import { plainTable } from './table.ts';

/** Columns of what an epoch came to, and the metric of each. */
const metricColumns = {
  success: 'env/success_rate',
  R_env: 'env/reward',
  difficulty: 'env/difficulty',
  valid: 'env/valid_fraction',
  'held-out': 'eval/heldout',
  low: 'eval/heldout_low',
  high: 'eval/heldout_high',
} as const;

/** Seconds below which a phase gets no column in the table. */
const SHORTEST_PHASE = 2;

/** The epochs of a run as JSON: all metrics, and the seconds of each phase. */
export const epochLines = (rows: readonly EpochRow[]) =>
  rows.map(({ epoch, at, metrics, time, notes }) => ({ epoch, at, metrics, seconds: time, notes }));

/**
 * A table of the epochs of a run: what each came to, and the seconds of its phases. Phases that are short in
 * every epoch are left out. Epoch 0 is the preparation.
 */
export function epochTable(rows: readonly EpochRow[]): string {
  const names = [...new Set(rows.flatMap(({ time }) => Object.keys(time)))].filter(
    (name) => name !== 'epoch',
  );
  const phases = names.filter((name) => rows.some(({ time }) => (time[name] ?? 0) >= SHORTEST_PHASE));
  const columns = Object.keys(metricColumns);
  const table = plainTable(['epoch', ...columns, ...phases, 'seconds']);
  for (const { epoch, metrics, time } of rows)
    table.push([
      epoch,
      ...Object.values(metricColumns).map((name) => metrics[name]?.toFixed(2) ?? ''),
      ...[...phases, 'epoch'].map((phase) => time[phase]?.toFixed(0) ?? ''),
    ]);
  return table.toString();
}
