/** A structured action, as JSON has it: a tool call, say. */
export type Action =
  string | number | boolean | null | readonly Action[] | { readonly [name: string]: Action };

/**
 * Exact match of an action and its ground truth: 1 or 0. GenEnv eq. (1), I(a' = a). Objects match by their keys and
 * values whatever the order of keys, arrays in their order. Nothing is defaulted: a missing name, a missing argument
 * and an extra one all fail (the reference release lets a call inherit the gold name, and ignores extra arguments).
 */
export function exactMatch(answer: Action, target: Action): 0 | 1 {
  return equal(answer, target) ? 1 : 0;
}

/**
 * Exact match of texts up to case and white space: 1 or 0. The reference release's default reward, for boxed answers.
 */
export function exactTextMatch(answer: string, target: string): 0 | 1 {
  return normalised(answer) === normalised(target) ? 1 : 0;
}

function equal(left: Action, right: Action): boolean {
  if (typeof left !== 'object' || typeof right !== 'object' || left === null || right === null)
    return left === right;
  if (isList(left) || isList(right)) {
    return (
      isList(left) &&
      isList(right) &&
      left.length === right.length &&
      left.every((item, i) => equal(item, right[i] ?? null))
    );
  }
  const entries = Object.entries(left);
  return (
    entries.length === Object.keys(right).length &&
    entries.every(([name, value]) => Object.hasOwn(right, name) && equal(value, right[name] ?? null))
  );
}

function isList(action: Action): action is readonly Action[] {
  return Array.isArray(action);
}

function normalised(text: string): string {
  return text.normalize('NFKC').toLowerCase().replace(/\s+/gu, ' ').trim();
}
