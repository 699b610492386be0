/**
 * Ids of <pad>, <bos> and <eos>; characters follow. The tokenizer of models made from scratch:
 * trainer/genenv_trainer/tokenizer.py.
 */
const specialTokens = 3;
const endOfSequence = 2;

/**
 * A rollout of several turns as a model made from scratch sees it, from texts that are read and written in
 * turn: token ids, and a mask that is 1 on what is written. What is written ends with the end of a sequence,
 * as it does where it is sampled.
 * @throws RangeError for a character outside the vocabulary
 */
export function dialogueTokens(
  texts: readonly string[],
  vocabulary: readonly string[],
): { token_ids: number[]; mask: number[] } {
  const ids = new Map(vocabulary.map((character, index) => [character, specialTokens + index]));
  const idOf = (character: string): number => {
    const id = ids.get(character);
    if (id === undefined)
      throw new RangeError(`the character ${JSON.stringify(character)} is not in the world's vocabulary`);
    return id;
  };
  const turns = texts.map((text, index) => ({
    tokens: [...[...text].map(idOf), ...(index % 2 === 1 ? [endOfSequence] : [])],
    written: index % 2,
  }));
  return {
    token_ids: turns.flatMap(({ tokens }) => tokens),
    mask: turns.flatMap(({ tokens, written }) => tokens.map(() => written)),
  };
}
