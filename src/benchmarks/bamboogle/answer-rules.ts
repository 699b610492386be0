import { stripReasoning } from '../../formats/toolrl.ts';

/** Punctuation of ASCII, which the rules drop. */
const punctuation = /[!-/:-@[-`{-~]/g;
const articles = /(?<![\p{L}\p{N}_])(?:a|an|the)(?![\p{L}\p{N}_])/gu;
/** Answers that F1 takes whole: part of one is no answer. */
const whole: ReadonlySet<string> = new Set(['yes', 'no', 'noanswer']);

/**
 * Lower case without ASCII punctuation and English articles, words one space apart (Search-R1's qa_em.py, as
 * SQuAD).
 */
export function normalizeAnswer(text: string): string {
  return wordsOf(text).join(' ');
}

const wordsOf = (text: string): string[] =>
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

/** 2 |shared| / (|prediction| + |gold|) over normalised words, counted as often as they occur, in [0, 1] (ReSearch, from FlashRAG). */
export function f1(prediction: string, gold: string): number {
  const [predicted, expected] = [wordsOf(prediction), wordsOf(gold)];
  const [one, other] = [predicted.join(' '), expected.join(' ')];
  if (one !== other && (whole.has(one) || whole.has(other))) return 0;
  const left = new Map<string, number>();
  for (const word of expected) left.set(word, (left.get(word) ?? 0) + 1);
  let shared = 0;
  for (const word of predicted) {
    const count = left.get(word) ?? 0;
    if (count > 0) shared += 1;
    left.set(word, count - 1);
  }
  return shared === 0 ? 0 : (2 * shared) / (predicted.length + expected.length);
}

/**
 * The answer in what a model said, after any thoughts (`</think>`): its last `<answer>` block; else its last
 * `<response>` block; else what follows its last line that begins with `Answer:`; else all of it.
 */
export function extractAnswer(text: string): string {
  const said = stripReasoning(text);
  const block = lastOf(said, /<answer>([^]*?)<\/answer>/g) ?? lastOf(said, /<response>([^]*?)<\/response>/g);
  return (block ?? lastOf(said, /^[ \t]*\**Answer:\**(.*)$/gim) ?? said).trim();
}

const lastOf = (text: string, pattern: RegExp): string | undefined => [...text.matchAll(pattern)].at(-1)?.[1];
