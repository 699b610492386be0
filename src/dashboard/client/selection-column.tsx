import { useState } from 'preact/hooks';
import type { Column } from '../../report/client/data-table.tsx';

/**
 * The ids that a reader has selected, and the column of checkboxes.
 * @param verb what selected rows are for: `compare`
 */
export function useSelection<Row>(
  verb: string,
  idOf: (row: Row) => string,
): { selected: readonly string[]; selectionColumn: Column<Row> } {
  const [selected, setSelected] = useState<readonly string[]>([]);
  const select = (id: string, isOn: boolean) =>
    setSelected(isOn ? [...selected, id] : selected.filter((candidate) => candidate !== id));
  return {
    selected,
    selectionColumn: {
      name: `${verb.slice(0, 1).toUpperCase()}${verb.slice(1)}`,
      cell: (row) => (
        <input
          type="checkbox"
          aria-label={`${verb} ${idOf(row)}`}
          checked={selected.includes(idOf(row))}
          onChange={(event) => select(idOf(row), event.currentTarget.checked)}
        />
      ),
    },
  };
}
