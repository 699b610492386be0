/** Scripts that put no space between words: a character counts as one. */
const unspaced =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]/gu;

/**
 * The words of a text as the guard compares them: NFKC, lower case, runs of letters, marks and digits; punctuation and white space only part
 * them. What JSON escapes is read as what it stands for, so a question is found in a text of JSON too.
 */
export function wordsOf(text: string): string[] {
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
