import { openingHash, openingOf, openingWords, shortest, wordsOf } from './fingerprint.ts';
import type { Fingerprint } from './fingerprint.ts';
import { readQuestions } from './questions-file.ts';

/** The question that a text holds. */
export type Contamination = Pick<Fingerprint, 'benchmark' | 'id'>;

/** Fingerprints by their openings. */
export type QuestionIndex = ReadonlyMap<number, readonly Fingerprint[]>;

export const indexOf = (all: readonly Fingerprint[]): QuestionIndex =>
  Map.groupBy(all, ({ opening }) => opening);

let shipped: QuestionIndex | undefined;
const shippedIndex = (): QuestionIndex => (shipped ??= indexOf(readQuestions()));

/**
 * The first benchmark question in a text, wherever it stands in it: its words in their order with none
 * between, whatever the case, punctuation, line ends or quotes around and within (`words.ts`); null where
 * there is none. A question in other words is not found.
 */
export function contaminated(text: string, index?: QuestionIndex): Contamination | null {
  if (text.length < openingWords) return null;
  const words = wordsOf(text);
  if (words.length < openingWords || words.join(' ').length < shortest) return null;
  const questions = index ?? shippedIndex();
  for (let at = 0; at + openingWords <= words.length; at++) {
    const found = questions
      .get(openingOf(words, at))
      ?.find(
        (question) =>
          at + question.words <= words.length &&
          openingHash(words.slice(at, at + question.words)) === question.hash,
      );
    if (found !== undefined) return { benchmark: found.benchmark, id: found.id };
  }
  return null;
}

/** For people: what is wrong with a text that holds a benchmark's question, and what to do about it. */
export const contaminationFault = ({ benchmark, id }: Contamination): string =>
  `it holds the question ${id} of the benchmark ${benchmark}, which says nothing of a policy that was trained on it: leave it out`;
