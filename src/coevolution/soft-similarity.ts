/** A number with its sign and its decimals, or a run of letters, marks and digits. */
const TOKEN = /(?<![\p{L}\p{N}])-?\p{Nd}+(?:[.,]\p{Nd}+)*(?![\p{L}\p{M}])|[\p{L}\p{M}\p{N}]+/gu;

/**
 * Soft similarity of a free-form answer and its reference: normalised token F1, 2 |shared| / (|answer| + |reference|),
 * tokens counted as often as they occur, in [0, 1] and symmetric. GenEnv eq. (1), "e.g. normalized token-F1".
 *
 * Normalised as in SQuAD (case, punctuation, space), with two differences that close holes: a number keeps its sign
 * and its point (SQuAD reads 2.5 as 25), and articles count (to SQuAD the answers "A" and "The" are both empty).
 * Where neither has a token, they are as similar as equal: "?" and "!" are not.
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
