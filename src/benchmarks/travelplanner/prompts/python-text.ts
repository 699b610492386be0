/** A text as Python's repr prints it, without escapes for what is not printable beyond ASCII. */
export function pythonText(text: string): string {
  const quote = text.includes("'") && !text.includes('"') ? '"' : "'";
  const escaped = text
    .replaceAll('\\', '\\\\')
    .replaceAll('\n', '\\n')
    .replaceAll('\r', '\\r')
    .replaceAll('\t', '\\t');
  return quote + (quote === "'" ? escaped.replaceAll("'", "\\'") : escaped) + quote;
}

/** A list of records as Python prints it: what the official prompts hold where they were given such a list. */
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
