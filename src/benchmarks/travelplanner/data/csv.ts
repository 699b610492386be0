import { parse } from 'csv-parse/sync';

/**
 * Rows of a CSV text (RFC 4180), by the column names in its first line. Cells are texts; a cell that is
 * missing at the end of a line is empty.
 * @throws Error if a quoted cell is not closed
 */
export function csvRows(text: string): Record<string, string>[] {
  const [names = [], ...rows] = csvLines(text);
  return rows.map((cells) => Object.fromEntries(names.map((name, column) => [name, cells[column] ?? ''])));
}

function csvLines(text: string): string[][] {
  const lines = parse(text, {
    record_delimiter: ['\r\n', '\n'],
    relax_column_count: true,
    relax_quotes: true,
  });
  return lines.filter((cells) => cells.length > 1 || cells[0] !== '');
}

/** What pandas reads as no value; the official tables leave out rows that have one. */
const absentValues = new Set(
  [
    ['', '#N/A', '#N/A N/A', '#NA', '<NA>', 'N/A', 'NA', 'n/a'],
    ['NULL', 'null', 'None', 'NaN', 'nan', '-NaN', '-nan'],
    ['-1.#IND', '-1.#QNAN', '1.#IND', '1.#QNAN'],
  ].flat(),
);

/** Whether no cell of the row is absent. */
export const isComplete = (row: Readonly<Record<string, string>>): boolean =>
  Object.values(row).every((cell) => !absentValues.has(cell));
