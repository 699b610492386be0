import { sha256 } from '../store/canonical-json.ts';

const mark = ',\n "sha256": "';
const tailOf = (head: string): string => `${mark}${sha256(head)}"\n}\n`;

/** JSON text of an object that carries its own hash: the last field, `sha256`, is that of all text before it. */
export function seal(value: object): string {
  const head = JSON.stringify(value, null, 1).slice(0, -'\n}'.length);
  return head + tailOf(head);
}

/** The object without its seal; undefined where the text is torn or altered. */
export function unseal(text: string): unknown {
  const head = text.slice(0, Math.max(0, text.lastIndexOf(mark)));
  return text === head + tailOf(head) ? JSON.parse(`${head}\n}`) : undefined;
}
