import { createHash } from 'node:crypto';

/** A question of a benchmark, as a case's id names it. */
export interface BenchmarkQuestion {
  benchmark: string;
  id: string;
  text: string;
}

/** What is kept of a question: not its text, and enough to find it in another. */
export interface Fingerprint {
  /** First 16 hexadecimal digits of the sha256 of its words, a space apart. */
  hash: string;
  words: number;
  /** FNV-1a, 32 bits, of its first words: a cheap check for where it may begin. */
  opening: number;
  benchmark: string;
  id: string;
}

export const OPENING_WORDS = 5;
/** Shorter questions occur anywhere. */
export const MIN_CHARACTERS = 24;

/** Null for a question too short to be distinctive: under five words or 24 characters. */
export function questionFingerprint({ benchmark, id, text }: BenchmarkQuestion): Fingerprint | null {
  const words = splitWords(text);
  if (words.length < OPENING_WORDS || words.join(' ').length < MIN_CHARACTERS) return null;
  return { hash: hashWords(words), words: words.length, opening: hashOpening(words, 0), benchmark, id };
}

/** Each text once, under the first case that has it. */
export function questionFingerprints(questions: readonly BenchmarkQuestion[]): Fingerprint[] {
  const all = new Map<string, Fingerprint>();
  for (const question of questions) {
    const fingerprint = questionFingerprint(question);
    if (fingerprint !== null && !all.has(fingerprint.hash)) all.set(fingerprint.hash, fingerprint);
  }
  return [...all.values()];
}

export const hashWords = (words: readonly string[]): string =>
  createHash('sha256').update(words.join(' ')).digest('hex').slice(0, 16);

/** Hash of the opening that begins at a place. */
export function hashOpening(words: readonly string[], from: number): number {
  let hash = 0x811c9dc5;
  for (let at = from; at < from + OPENING_WORDS; at++) {
    const word = words[at]!;
    for (let index = 0; index < word.length; index++)
      hash = Math.imul(hash ^ word.charCodeAt(index), 0x01000193);
    hash = Math.imul(hash ^ 32, 0x01000193);
  }
  return hash >>> 0;
}

/** Scripts that put no space between words: a character counts as one. */
const unspaced =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]/gu;

/**
 * The words of a text as the guard compares them: NFKC, lower case, runs of letters, marks and digits;
 * punctuation and white space only separate them. JSON escapes are decoded, so a question is found in JSON
 * too.
 */
export function splitWords(text: string): string[] {
  // Several backslashes: JSON in JSON.
  const plain = text.replace(/\\+(?:u([0-9a-fA-F]{4})|[nrtbf]?)/g, (_, code: string | undefined) =>
    code === undefined ? ' ' : String.fromCharCode(parseInt(code, 16)),
  );
  return (
    plain
      .normalize('NFKC')
      .toLowerCase()
      .replace(unspaced, ' $& ')
      .match(/[\p{L}\p{M}\p{N}]+/gu) ?? []
  );
}
