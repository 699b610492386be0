import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Fingerprint } from './fingerprint.ts';

/** Fingerprints of the benchmarks' questions, made by `npm run contamination`. */
export const questionsFile = fileURLToPath(
  new URL('../../../data/contamination/questions.tsv', import.meta.url),
);

/** A line for each: hash, words, opening, benchmark, id, a tab between. */
export const questionsText = (all: readonly Fingerprint[]): string =>
  all
    .map(
      ({ hash, words, opening, benchmark, id }) =>
        `${hash}\t${words}\t${opening.toString(16).padStart(8, '0')}\t${benchmark}\t${id}\n`,
    )
    .join('');

/** @throws Error where the file is not there: it comes with the project */
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
