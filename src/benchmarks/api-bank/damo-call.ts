import { afterThoughts } from '../after-thoughts.ts';
import { readLiteral } from '../python-literal.ts';
import type { Literal } from '../python-literal.ts';

/** A call as DAMO's data writes it: `[ApiName(key1='value1', key2='value2')]`. */
export interface ApiCall {
  name: string;
  parameters: ReadonlyMap<string, Literal>;
}

const opening = /\[\s*([A-Za-z_]\w*)\s*\(/g;
const key = /\s*([A-Za-z_]\w*)\s*=\s*/y;
const closing = /\s*(?:,\s*)?\)\s*\]/y;
/** What ends a value: the next parameter, or the end of the call. Takes time linear in the white space that it passes. */
const after = /\s*(?:,\s*[A-Za-z_]\w*\s*=|(?:,\s*)?\)\s*\])/y;
/** Longer texts are not read: a text of many beginnings is read from each. */
const longest = 20_000;

/** The first call in a text that can be read, after any thoughts (`</think>`); undefined where there is none. Nothing is evaluated. */
export function apiCallIn(text: string): ApiCall | undefined {
  const said = afterThoughts(text);
  if (said.length > longest) return undefined;
  for (const { 0: found, 1: name, index } of said.matchAll(opening)) {
    const parameters = readParameters(said, index + found.length);
    if (parameters !== undefined) return { name: name!, parameters };
  }
  return undefined;
}

function readParameters(text: string, start: number): Map<string, Literal> | undefined {
  const parameters = new Map<string, Literal>();
  let at = start;
  while (!matches(closing, text, at)) {
    if (parameters.size > 0) at = text.indexOf(',', at) + 1;
    key.lastIndex = at;
    const name = key.exec(text)?.[1];
    const read = name === undefined || parameters.has(name) ? undefined : readValue(text, key.lastIndex);
    if (name === undefined || read === undefined) return undefined;
    parameters.set(name, read.value);
    at = read.end;
  }
  return parameters;
}

/** A literal where it stands alone; else what lies between quotes, which the data does not escape within them; else the bare text. */
function readValue(text: string, start: number): { value: Literal; end: number } | undefined {
  const literal = readLiteral(text, start);
  if (literal !== undefined && matches(after, text, literal.end)) return literal;
  const quote = text[start] === "'" || text[start] === '"' ? text[start] : '';
  for (let end = start + 1; end < text.length; end++) {
    // Tried only where a value can end, not at each of the spaces before.
    if (quote === '' ? text[end] !== ',' && text[end] !== ')' : text[end] !== quote) continue;
    const next = end + quote.length;
    if (matches(after, text, next)) return { value: text.slice(start + quote.length, end).trim(), end: next };
  }
  return undefined;
}

function matches(pattern: RegExp, text: string, at: number): boolean {
  pattern.lastIndex = at;
  return pattern.test(text);
}
