import { lastTaggedBlock } from '../../formats/tagged-blocks.ts';
import { stripReasoning } from '../../formats/toolrl.ts';

/** Punctuation of ASCII, which the rules drop. */
const punctuation = /[!-/:-@[-`{-~]/g;
const articles = /(?<![\p{L}\p{N}_])(?:a|an|the)(?![\p{L}\p{N}_])/gu;
/** Answers for which F1 counts no partial match. */
const indivisible: ReadonlySet<string> = new Set(['yes', 'no', 'noanswer']);

/**
 * Lower case without ASCII punctuation and English articles, words one space apart (Search-R1's qa_em.py, as
 * SQuAD).
 */
export function normalizeAnswer(text: string): string {
  return normalizedWords(text).join(' ');
}

const normalizedWords = (text: string): string[] =>
  text
    .toLowerCase()
    .replace(punctuation, '')
    .replace(articles, ' ')
    .split(/\s+/)
    .filter((word) => word !== '');

/** Equal once normalised: 1 or 0. */
export function exactAnswerMatch(prediction: string, gold: string): 0 | 1 {
  return normalizeAnswer(prediction) === normalizeAnswer(gold) ? 1 : 0;
}

/** The gold answer is contained in the prediction, both normalised, wherever it begins: 1 or 0. */
export function containedAnswerMatch(prediction: string, gold: string): 0 | 1 {
  return normalizeAnswer(prediction).includes(normalizeAnswer(gold)) ? 1 : 0;
}

/**
 * 2 |shared| / (|prediction| + |gold|) over normalised words, counted as often as they occur, in [0, 1]
 * (ReSearch, from FlashRAG).
 */
export function f1(prediction: string, gold: string): number {
  const [predicted, expected] = [normalizedWords(prediction), normalizedWords(gold)];
  const [predictedText, expectedText] = [predicted.join(' '), expected.join(' ')];
  if (predictedText !== expectedText && (indivisible.has(predictedText) || indivisible.has(expectedText)))
    return 0;
  const remaining = new Map<string, number>();
  for (const word of expected) remaining.set(word, (remaining.get(word) ?? 0) + 1);
  let shared = 0;
  for (const word of predicted) {
    const count = remaining.get(word) ?? 0;
    if (count > 0) shared += 1;
    remaining.set(word, count - 1);
  }
  return shared === 0 ? 0 : (2 * shared) / (predicted.length + expected.length);
}

/**
 * The answer in what a model said, after any thoughts (`</think>`): its last `<answer>` block; else its last
 * `<response>` block; else what follows its last line that begins with `Answer:`; else all of it.
 */
export function extractAnswer(text: string): string {
  const answer = stripReasoning(text);
  const block = lastTaggedBlock(answer, 'answer') ?? lastTaggedBlock(answer, 'response');
  return (block ?? lastMatch(answer, /^[ \t]*\**Answer:\**(.*)$/gim) ?? answer).trim();
}

const lastMatch = (text: string, pattern: RegExp): string | undefined =>
  [...text.matchAll(pattern)].at(-1)?.[1];
