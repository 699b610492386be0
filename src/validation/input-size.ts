/**
 * How large an input may be before a schema, a merge with defaults or a message sees it: these take stack by its
 * depth, and time by more than its size, while the process does nothing else.
 */
const MAX_DEPTH = 64;
const MAX_VALUES = 100_000;
const MAX_NAME_LENGTH = 1_000;

/** What is too large of a value that came as JSON; undefined if nothing is. */
export function sizeProblem(root: unknown): string | undefined {
  let values = 0;
  const pending = [{ value: root, depth: 0 }];
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    const { value, depth } = next;
    if (typeof value !== 'object' || value === null) continue;
    if (depth === MAX_DEPTH) return `it is nested deeper than ${MAX_DEPTH} levels`;
    const entries = Object.entries(value);
    values += entries.length;
    if (values > MAX_VALUES) return 'it has more than 100,000 values';
    for (const [name, inner] of entries) {
      if (name.length > MAX_NAME_LENGTH) return 'the name of a field has more than 1,000 characters';
      pending.push({ value: inner, depth: depth + 1 });
    }
  }
  return undefined;
}

/** Whether a value is nested so deeply that whoever walks it would run out of stack. */
export function isTooDeep(root: unknown): boolean {
  let level: unknown[] = [root];
  for (let depth = 0; depth <= MAX_DEPTH && level.length > 0; depth++)
    level = level.flatMap((value): unknown[] =>
      typeof value === 'object' && value !== null ? Object.values(value) : [],
    );
  return level.length > 0;
}
