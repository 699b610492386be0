/**
 * How the official evaluation takes texts of a plan apart. It does so with regular expressions, some of which take quadratic or cubic time
 * on texts that a model may write; these functions give the same in linear time.
 */

/** `Houston(Texas)` as `Houston`; a text without a pair of brackets, or with a line break before it, as it is. */
export function beforeParenthesis(text: string): string {
  const open = text.indexOf('(');
  if (open < 0 || !text.includes(')', open)) return text;
  const before = text.slice(0, open);
  return before.includes('\n') ? text : before;
}

/** `Coco Bambu, Rockford` as its name and city, split at the last comma; `-` and `-` for a text that has no such parts. */
export function nameAndCity(text: string): { name: string; city: string } {
  const comma = text.lastIndexOf(',');
  if (comma < 0 || comma === text.length - 1) return { name: '-', city: '-' };
  const line = text.lastIndexOf('\n', comma) + 1;
  return { name: text.slice(line, comma).trim(), city: beforeParenthesis(text.slice(comma + 1).trim()).trim() };
}

/** `from A to B, ...` as A and B; null where it does not say so. The texts it is given are short: see longestRoute in plan.ts. */
export function fromTo(text: string): [from: string, to: string] | null {
  const match = /from\s+([^\n]+?)\s+to\s+([^,]+)/u.exec(text);
  return match && [match[1]!, match[2]!];
}
