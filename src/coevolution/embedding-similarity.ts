/** A text as a model of embeddings has it: a vector of finite numbers, not all of them 0. */
export type Embedding = readonly number[];

/**
 * Soft similarity of a free-form answer and its reference by their embeddings: max(0, cos(a, b)), cos(a, b) =
 * a·b / (‖a‖ ‖b‖), in [0, 1] and symmetric. GenEnv eq. (1), "or embedding similarity"; the paper names no model.
 * Opposite meanings have no negative similarity, since rewards are in [0, 1].
 * @throws RangeError for vectors of different lengths
 */
export function embeddingSimilarity(answer: Embedding, reference: Embedding): number {
  if (answer.length !== reference.length)
    throw new RangeError(
      `embeddings of ${answer.length} and ${reference.length} numbers; expected as many in both`,
    );
  let [product, answerSquares, referenceSquares] = [0, 0, 0];
  for (const [index, value] of answer.entries()) {
    const paired = reference[index]!;
    product += value * paired;
    answerSquares += value * value;
    referenceSquares += paired * paired;
  }
  const cosine = product / (Math.sqrt(answerSquares) * Math.sqrt(referenceSquares));
  // Rounding may lead a little out of [-1, 1].
  return Math.min(1, Math.max(0, cosine));
}
