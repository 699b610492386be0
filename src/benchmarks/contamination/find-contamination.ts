import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { hashOpening, hashWords, MIN_CHARACTERS, OPENING_WORDS, splitWords } from './fingerprint.ts';
import type { Fingerprint } from './fingerprint.ts';

/** The question that a text holds. */
export type Contamination = Pick<Fingerprint, 'benchmark' | 'id'>;

/** Fingerprints by their openings. */
export type QuestionIndex = ReadonlyMap<number, readonly Fingerprint[]>;

export const indexFingerprints = (all: readonly Fingerprint[]): QuestionIndex =>
  Map.groupBy(all, ({ opening }) => opening);

let shipped: QuestionIndex | undefined;
const shippedIndex = (): QuestionIndex => (shipped ??= indexFingerprints(readQuestions()));

/**
 * The first benchmark question that a text contains: its words in order with none between, regardless of
 * case, punctuation, line ends and quotes (`splitWords`); null if there is none. Paraphrases are not found.
 */
export function findContamination(text: string, index?: QuestionIndex): Contamination | null {
  if (text.length < OPENING_WORDS) return null;
  const words = splitWords(text);
  if (words.length < OPENING_WORDS || words.join(' ').length < MIN_CHARACTERS) return null;
  const questions = index ?? shippedIndex();
  for (let at = 0; at + OPENING_WORDS <= words.length; at++) {
    const match = questions
      .get(hashOpening(words, at))
      ?.find(
        (question) =>
          at + question.words <= words.length &&
          hashWords(words.slice(at, at + question.words)) === question.hash,
      );
    if (match !== undefined) return { benchmark: match.benchmark, id: match.id };
  }
  return null;
}

/**
 * The first benchmark question in a task: in its text, of which later turns are made, or in the prompt that the agent
 * gets for it.
 */
export const findTaskContamination = (text: string, agentPrompt: string): Contamination | null =>
  findContamination(text) ?? findContamination(agentPrompt);

/** The error message about a text that contains a benchmark's question, with what to do about it. */
export const contaminationMessage = ({ benchmark, id }: Contamination): string =>
  `it holds the question ${id} of the benchmark ${benchmark}, which says nothing of a policy that was trained on it: leave it out`;

/** Fingerprints of the benchmarks' questions, made by `npm run contamination`. */
export const questionsFile = fileURLToPath(
  new URL('../../../data/contamination/questions.tsv', import.meta.url),
);

/** A line for each, tab-separated: hash, words, opening, benchmark, id. */
export const questionsText = (all: readonly Fingerprint[]): string =>
  all
    .map(
      ({ hash, words, opening, benchmark, id }) =>
        `${hash}\t${words}\t${opening.toString(16).padStart(8, '0')}\t${benchmark}\t${id}\n`,
    )
    .join('');

/** @throws Error if the file, which comes with the project, is missing */
export function readQuestions(file = questionsFile): Fingerprint[] {
  return readFileSync(file, 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => {
      const [hash, words, opening, benchmark, id] = line.split('\t') as [
        string,
        string,
        string,
        string,
        string,
      ];
      return { hash, words: Number(words), opening: parseInt(opening, 16), benchmark, id };
    });
}
