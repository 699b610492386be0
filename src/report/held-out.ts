import { mean } from '../numerics/arithmetic.ts';
import type { ObjectStore } from '../store/object-store.ts';
import type { VerdictRecord } from '../types/records.ts';
import { readRecords } from './read-lines.ts';
import type { EpochRow } from './run-data.ts';

/** Held-out success by kind and difficulty after one epoch. Cells: [difficulty, kind, success]. */
export interface HeldOutGrid {
  epoch: number;
  kinds: string[];
  difficulties: string[];
  cells: [number, number, number | null][];
}

/** The first and the last evaluation whose verdicts are still stored. */
export async function heldOutGrids(
  rows: readonly EpochRow[],
  store: ObjectStore,
  gaps: string[],
): Promise<HeldOutGrid[]> {
  const evaluated = rows.filter(({ outputs }) => (outputs.verdicts ?? []).length > 0);
  const ends = new Set([evaluated[0], evaluated.at(-1)]);
  const grids: HeldOutGrid[] = [];
  for (const row of ends) {
    if (row === undefined) continue;
    const verdicts = await readRecords<VerdictRecord>(store, row.outputs.verdicts ?? [], {
      what: `epoch ${row.epoch}: held-out verdicts`,
      gaps,
    });
    if (verdicts !== null && verdicts.length > 0) grids.push(gridOf(row.epoch, verdicts));
  }
  return grids;
}

function gridOf(epoch: number, verdicts: readonly VerdictRecord[]): HeldOutGrid {
  const kinds = [...new Set(verdicts.map(({ kind }) => kind))].sort();
  const difficulties = [...new Set(verdicts.map(({ difficulty }) => difficulty))].sort((a, b) => a - b);
  const cells = difficulties.flatMap((difficulty, column) =>
    kinds.flatMap((kind, row): HeldOutGrid['cells'] => {
      const matching = verdicts.filter(
        (verdict) => verdict.kind === kind && verdict.difficulty === difficulty,
      );
      const success = mean(matching.map(({ reward }) => reward));
      return success === null ? [] : [[column, row, Number(success.toFixed(3))]];
    }),
  );
  return { epoch, kinds, difficulties: difficulties.map(String), cells };
}
