/** A structured action, as JSON has it: a tool call, say. */
export type Action =
  string | number | boolean | null | readonly Action[] | { readonly [name: string]: Action };

/**
 * Exact match of an action and its ground truth: 1 or 0. GenEnv eq. (1), I(a' = a). Objects match by their
 * keys and values whatever the order of keys, arrays in their order. Nothing is defaulted: a missing name, a
 * missing argument and an extra one all fail (the reference release lets a call inherit the gold name, and
 * ignores extra arguments).
 */
export function exactMatch(answer: Action, target: Action): 0 | 1 {
  return equal(answer, target) ? 1 : 0;
}

/**
 * Exact match of texts up to case and white space: 1 or 0. The reference release's default reward, for boxed
 * answers.
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

/** A number with its sign and its decimals, or a run of letters, marks and digits. */
const TOKEN =
  /(?<![\p{L}\p{N}])-?\p{Nd}+(?:[.,]\p{Nd}+)*(?![\p{L}\p{M}\p{N}]|[.,]\p{Nd})|[\p{L}\p{M}\p{N}]+/gu;

/**
 * Soft similarity of a free-form answer and its reference: normalised token F1, 2 |shared| / (|answer| +
 * |reference|), tokens counted as often as they occur, in [0, 1] and symmetric. GenEnv eq. (1), "e.g.
 * normalized token-F1".
 *
 * Normalised as in SQuAD (case, punctuation, space), with two differences that close holes: a number keeps
 * its sign and its point (SQuAD reads 2.5 as 25), and articles count (to SQuAD the answers "A" and "The" are
 * both empty). If neither has a token, they are similar only if equal: "?" and "!" are not.
 */
export function softSimilarity(answer: string, reference: string): number {
  const left = tokens(answer);
  const right = tokens(reference);
  if (left.length === 0 && right.length === 0) return answer.trim() === reference.trim() ? 1 : 0;

  const available = new Map<string, number>();
  for (const token of right) available.set(token, (available.get(token) ?? 0) + 1);
  let shared = 0;
  for (const token of left) {
    const count = available.get(token) ?? 0;
    if (count > 0) shared++;
    available.set(token, count - 1);
  }
  return (2 * shared) / (left.length + right.length);
}

function tokens(text: string): string[] {
  return text.normalize('NFKC').toLowerCase().match(TOKEN) ?? [];
}
