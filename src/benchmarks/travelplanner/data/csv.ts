/**
 * Rows of a CSV text after RFC 4180, its first line the names of columns: each row by those names. Cells are
 * texts.
 */
export function csvRows(text: string): Record<string, string>[] {
  const [names = [], ...rows] = csvLines(text);
  return rows.map((cells) => Object.fromEntries(names.map((name, column) => [name, cells[column] ?? ''])));
}

/** What pandas reads as no value; the official tables leave out rows that have one. */
const absent = new Set(['', '#N/A', '#N/A N/A', '#NA', '-1.#IND', '-1.#QNAN', '-NaN', '-nan', '1.#IND', '1.#QNAN', '<NA>', 'N/A', 'NA', 'NULL', 'NaN', 'None', 'n/a', 'nan', 'null']);

export const isWhole = (row: Readonly<Record<string, string>>): boolean => Object.values(row).every((cell) => !absent.has(cell));

function csvLines(text: string): string[][] {
  const lines: string[][] = [[]];
  // A cell with what ends it: quoted, with quotes in it doubled, or up to the next comma or line's end.
  const cell = /(?:"([^"]*(?:""[^"]*)*)"|([^,\r\n]*))(,|\r?\n|$)/uy;
  while (cell.lastIndex < text.length) {
    const match = cell.exec(text);
    if (match === null) throw new Error(`a CSV cell cannot be read: ${JSON.stringify(text.slice(0, 80))}`);
    lines.at(-1)!.push(match[1]?.replaceAll('""', '"') ?? match[2]!);
    if (match[3] === '') break;
    if (match[3] !== ',') lines.push([]);
  }
  return lines.filter((line) => line.length > 1 || (line[0] ?? '') !== '');
}
