type Json = Record<string, unknown>;
const isObject = (value: unknown): value is Json => typeof value === 'object' && value !== null;
const show = (value: unknown): string => (value === undefined ? 'nothing' : JSON.stringify(value));

/** The first fields in which two experiments differ, for a message: `epochs: was 90, is 120; world.tools: was 4, is 5`. */
export function changedFields(before: unknown, after: unknown, most = 3): string {
  return [...differences(before, after, '')].slice(0, most).join('; ');
}

function* differences(before: unknown, after: unknown, path: string): Generator<string> {
  if (!isObject(before) || !isObject(after)) {
    if (show(before) !== show(after))
      yield `${path === '' ? 'the file' : path}: was ${show(before)}, is ${show(after)}`;
    return;
  }
  const keys = [...new Set([...Object.keys(before), ...Object.keys(after)])].sort();
  for (const key of keys) yield* differences(before[key], after[key], path === '' ? key : `${path}.${key}`);
}
