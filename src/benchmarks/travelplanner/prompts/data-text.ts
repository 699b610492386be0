import type { Reference } from '../data/train-sandbox.ts';

/**
 * Reference information of a task as the official sole-planning prompt has it: a Python list of descriptions
 * and contents.
 */
export function referenceText(reference: Reference): string {
  return pythonRecords(
    Object.entries(reference).map(([Description, content]) => ({
      Description,
      Content: typeof content === 'string' ? content : tableText(content),
    })),
  );
}

/** Columns that are floats in the database: a table shows 1049 there as 1049.0. */
const fractional = new Set([
  'price',
  'minimum nights',
  'review rate number',
  'Aggregate Rating',
  'Distance',
  'Latitude',
  'Longitude',
]);

/**
 * A table as pandas prints it (`DataFrame.to_string(index=False)`), which is how the official tools and
 * prompts show tables.
 */
export function tableText(rows: readonly object[]): string {
  const names = Object.keys(rows[0] ?? {});
  const columns = names.map((name) => {
    const values = rows.map((row) => (row as Record<string, unknown>)[name]);
    // pandas leaves room for a sign above numbers.
    const cells = [typeof values[0] === 'number' ? ` ${name}` : name, ...cellTexts(name, values)];
    const width = Math.max(...cells.map(countCharacters));
    return cells.map((cell) => ' '.repeat(width - countCharacters(cell)) + cell);
  });
  return Array.from({ length: rows.length + 1 }, (_, line) =>
    columns.map((column) => column[line]!).join(' '),
  ).join('\n');
}

/** Up to six decimals, and as few as all numbers of the column allow, but one at least. */
function cellTexts(name: string, values: readonly unknown[]): string[] {
  if (!fractional.has(name))
    return values.map((value) =>
      String(value).replaceAll('\n', '\\n').replaceAll('\r', '\\r').replaceAll('\t', '\\t'),
    );
  const texts = values.map((value) => (value as number).toFixed(6));
  const decimals = Math.max(1, ...texts.map((text) => text.replace(/0+$/u, '').split('.')[1]!.length));
  return texts.map((text) => text.slice(0, text.indexOf('.') + 1 + decimals));
}

const countCharacters = (text: string): number => [...text].length;
/** A text as Python's repr prints it, without escapes for unprintable characters beyond ASCII. */
export function pythonText(text: string): string {
  const quote = text.includes("'") && !text.includes('"') ? '"' : "'";
  const escaped = text
    .replaceAll('\\', '\\\\')
    .replaceAll('\n', '\\n')
    .replaceAll('\r', '\\r')
    .replaceAll('\t', '\\t');
  return quote + (quote === "'" ? escaped.replaceAll("'", "\\'") : escaped) + quote;
}

/** A list of records as Python prints it, for official prompts that contain such a list. */
export function pythonRecords(records: readonly Readonly<Record<string, string | number>>[]): string {
  const value = (field: string | number): string =>
    typeof field === 'number' ? String(field) : pythonText(field);
  return `[${records
    .map(
      (record) =>
        `{${Object.entries(record)
          .map(([name, field]) => `${pythonText(name)}: ${value(field)}`)
          .join(', ')}}`,
    )
    .join(', ')}]`;
}
