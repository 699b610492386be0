/** The fields of settings by their paths, with their values as JSON: `difficulty.alpha` -> `0.5`. */
export function fieldsOf(settings: unknown): Map<string, string> {
  const fields = new Map<string, string>();
  const visit = (value: unknown, path: string): void => {
    if (typeof value === 'object' && value !== null && !Array.isArray(value))
      for (const [name, field] of Object.entries(value)) visit(field, path === '' ? name : `${path}.${name}`);
    else fields.set(path, JSON.stringify(value));
  };
  visit(settings ?? {}, '');
  return fields;
}
