import { useState } from 'preact/hooks';
import type { Column } from '../../report/client/data-table.tsx';

/**
 * The ids that a reader has ticked, and the column of ticks.
 * @param verb what ticked rows are for: `compare`
 */
export function useTicks<Row>(
  verb: string,
  idOf: (row: Row) => string,
): { ticked: readonly string[]; tickColumn: Column<Row> } {
  const [ticked, setTicked] = useState<readonly string[]>([]);
  const tick = (id: string, isOn: boolean) =>
    setTicked(isOn ? [...ticked, id] : ticked.filter((candidate) => candidate !== id));
  return {
    ticked,
    tickColumn: {
      name: `${verb.slice(0, 1).toUpperCase()}${verb.slice(1)}`,
      cell: (row) => (
        <input
          type="checkbox"
          aria-label={`${verb} ${idOf(row)}`}
          checked={ticked.includes(idOf(row))}
          onChange={(event) => tick(idOf(row), event.currentTarget.checked)}
        />
      ),
    },
  };
}
