/**
 * How large an input may be before a schema, a merge with defaults or a message sees it: these take stack by its
 * depth, and time by more than its size, while the process does nothing else.
 */
const MAX_DEPTH = 64;
const MAX_VALUES = 100_000;
const MAX_NAME_LENGTH = 1_000;

/** What is too large of a value that came as JSON; undefined if nothing is. */
export function sizeProblem(root: unknown, maxValues = MAX_VALUES): string | undefined {
  let values = 0;
  for (const { container, depth } of containersIn(root)) {
    if (depth === MAX_DEPTH) return `it is nested deeper than ${MAX_DEPTH} levels`;
    // The indices of an array would take more memory than the array.
    const names = Array.isArray(container) ? [] : Object.keys(container);
    values += Array.isArray(container) ? container.length : names.length;
    if (values > maxValues) return `it has more than ${maxValues.toLocaleString('en-US')} values`;
    if (names.some((name) => name.length > MAX_NAME_LENGTH))
      return 'the name of a field has more than 1,000 characters';
  }
  return undefined;
}

/** Entries of its arrays and fields of its objects, at all levels. */
export function countValues(root: unknown): number {
  let values = 0;
  for (const { container } of containersIn(root)) values += Object.keys(container).length;
  return values;
}

/** Whether a value is nested so deeply that whoever walks it would run out of stack. */
export function isTooDeep(root: unknown): boolean {
  for (const { depth } of containersIn(root)) if (depth === MAX_DEPTH) return true;
  return false;
}

/** Its objects and arrays with their depths, each before what is in it; without recursion. */
function* containersIn(root: unknown): Generator<{ container: object; depth: number }> {
  const pending = [{ value: root, depth: 0 }];
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    const { value, depth } = next;
    if (typeof value !== 'object' || value === null) continue;
    yield { container: value, depth };
    for (const inner of (Array.isArray(value) ? value : Object.values(value)) as unknown[])
      if (typeof inner === 'object' && inner !== null) pending.push({ value: inner, depth: depth + 1 });
  }
}
