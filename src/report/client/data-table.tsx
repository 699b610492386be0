import type { ComponentChildren } from 'preact';
import { Meanings } from './parts.tsx';

/** A column of a table. */
export interface Column<Row> {
  name: string;
  /** What it means, in a sentence. */
  hint?: string;
  /**
   * `heading` names the row, a `claim` does so in a sentence; the others are how its cells look: a `figure` is a
   * number, a `meaning` is prose.
   */
  kind?: 'heading' | 'claim' | 'figure' | 'meaning' | 'excerpt' | 'attention' | 'answer';
  cell: (row: Row, index: number) => ComponentChildren;
}

interface DataTableProps<Row> {
  /** What the table has, for screen readers. */
  label: string;
  columns: readonly Column<Row>[];
  rows: readonly Row[];
  class?: string;
  /** Class of a row. */
  rowClass?: (row: Row) => string;
  /** What a row is the row of, if rows change places; left out = its place. */
  rowKey?: (row: Row) => string;
  /** Title within the panel, and what stands below the table. */
  title?: string;
  children?: ComponentChildren;
}

/** A table in a panel that scrolls sideways on a narrow screen. */
export function DataTable<Row>({ label, title, children, ...table }: DataTableProps<Row>) {
  return (
    <Scroll label={label}>
      {title !== undefined && <h3>{title}</h3>}
      <Table {...table} />
      <Hints columns={table.columns} />
      {children}
    </Scroll>
  );
}

/** What columns mean, for those who have no pointer too. */
function Hints<Row>({ columns }: Pick<DataTableProps<Row>, 'columns'>) {
  const facts = columns.flatMap(({ name, hint }) => (hint === undefined ? [] : [[name, hint] as const]));
  return facts.length === 0 ? null : <Meanings title="What the columns mean" facts={facts} />;
}

type TableProps<Row> = Pick<DataTableProps<Row>, 'columns' | 'rows' | 'class' | 'rowClass' | 'rowKey'>;

export const Table = <Row,>({
  columns,
  rows,
  class: name = '',
  rowClass = () => '',
  rowKey,
}: TableProps<Row>) => (
  <table class={name}>
    <thead>
      <tr>
        {columns.map((column, index) => (
          <th key={index} scope="col" title={column.hint}>
            {column.name}
          </th>
        ))}
      </tr>
    </thead>
    <tbody>
      {rows.map((row, place) => (
        <tr key={rowKey?.(row) ?? place} class={rowClass(row)}>
          {columns.map(({ kind, cell }, index) =>
            kind === 'heading' || kind === 'claim' ? (
              <th key={index} scope="row" class={kind === 'claim' ? 'claim' : ''}>
                {cell(row, place)}
              </th>
            ) : (
              <td key={index} class={kind ?? ''}>
                {cell(row, place)}
              </td>
            ),
          )}
        </tr>
      ))}
    </tbody>
  </table>
);

/** A panel that scrolls sideways on a narrow screen, by the keyboard too. */
export const Scroll = ({ label, children }: { label: string; children: ComponentChildren }) => (
  <div class="panel scroll" role="region" aria-label={label} tabIndex={0}>
    {children}
  </div>
);
