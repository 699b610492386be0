/** The tokenizer of models made from scratch, as in `trainer/genenv_trainer/tokenizer.py`. */

/** <pad>, <bos> and <eos> have the ids 0 to 2; characters follow. */
const SPECIAL_TOKENS = 3;
const END_OF_SEQUENCE = 2;

/**
 * A multi-turn rollout as a model made from scratch sees it.
 * @param texts observations and actions, alternating; the first is the prompt
 * @returns token ids, and a mask that is 1 on actions; an action ends with the end of a sequence, as when it
 * is sampled
 * @throws RangeError for a character outside the vocabulary
 */
export function dialogueTokens(
  texts: readonly string[],
  vocabulary: readonly string[],
): { token_ids: number[]; mask: number[] } {
  const ids = new Map(vocabulary.map((character, index) => [character, SPECIAL_TOKENS + index]));
  const idOf = (character: string): number => {
    const id = ids.get(character);
    if (id === undefined)
      throw new RangeError(`the character ${JSON.stringify(character)} is not in the world's vocabulary`);
    return id;
  };
  const token_ids: number[] = [];
  const mask: number[] = [];
  for (const [index, text] of texts.entries()) {
    const isAction = index % 2 === 1;
    const tokens = [...text].map(idOf);
    if (isAction) tokens.push(END_OF_SEQUENCE);
    token_ids.push(...tokens);
    mask.push(...tokens.map(() => Number(isAction)));
  }
  return { token_ids, mask };
}
