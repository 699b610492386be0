/** The value of a Python literal or JSON text: tuples are lists, None is null. */
export type Literal =
  string | number | boolean | null | readonly Literal[] | { readonly [key: string]: Literal };

export interface ReadLiteral {
  value: Literal;
  /** Where the literal ends in the text. */
  end: number;
}

const MAX_DEPTH = 50;
const spaces = /\s*/y;
/** Its parts begin with different characters, so a text can be cut in one way alone: linear time. */
const numeral = /[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?(?![\w.])/y;
const word = /(?:True|true|False|false|None|null)(?!\w)/y;
const escapes: Readonly<Record<string, string>> = {
  n: '\n',
  t: '\t',
  r: '\r',
  b: '\b',
  f: '\f',
  '\n': '',
  '\\': '\\',
  "'": "'",
  '"': '"',
  '/': '/',
};

const codeUnit = /u[\da-fA-F]{4}|x[\da-fA-F]{2}/y;

/**
 * Parses the literal at a position of the text: strings, numbers, True, False, None, lists, tuples, dicts
 * with string keys. Undefined if there is none. Nothing is evaluated. Linear time.
 */
export function readLiteral(text: string, at = 0, depth = 0): ReadLiteral | undefined {
  const start = skip(spaces, text, at);
  const first = text[start];
  if (first === undefined || depth > MAX_DEPTH) return undefined;
  if (first === "'" || first === '"') return readString(text, start);
  if (first === '[' || first === '(') return readList(text, start, first === '[' ? ']' : ')', depth);
  if (first === '{') return readDict(text, start, depth);
  const named = skip(word, text, start);
  if (named > start)
    return { value: { t: true, f: false, n: null }[first.toLowerCase() as 't' | 'f' | 'n'], end: named };
  const end = skip(numeral, text, start);
  return end > start ? { value: Number(text.slice(start, end)), end } : undefined;
}

/** Parses a text that is a single literal. */
export function parseLiteral(text: string): Literal | undefined {
  const read = readLiteral(text, 0);
  return read !== undefined && skip(spaces, text, read.end) === text.length ? read.value : undefined;
}

/** The end of a sticky pattern's match at `at`; `at` if it does not match. */
function skip(pattern: RegExp, text: string, at: number): number {
  pattern.lastIndex = at;
  return pattern.test(text) ? pattern.lastIndex : at;
}

function readString(text: string, start: number): ReadLiteral | undefined {
  const quote = text[start];
  let value = '';
  for (let at = start + 1; at < text.length; at++) {
    const character = text[at]!;
    if (character === quote) return { value, end: at + 1 };
    if (character !== '\\') {
      value += character;
      continue;
    }
    at += 1;
    const end = skip(codeUnit, text, at);
    const escaped = text[at] ?? '';
    // As in Python, an unknown escape keeps its backslash.
    value +=
      end > at
        ? String.fromCharCode(Number.parseInt(text.slice(at + 1, end), 16))
        : (escapes[escaped] ?? `\\${escaped}`);
    if (end > at) at = end - 1;
  }
  return undefined;
}

function readList(text: string, start: number, close: string, depth: number): ReadLiteral | undefined {
  const items: Literal[] = [];
  let at = skip(spaces, text, start + 1);
  while (text[at] !== close) {
    const item = readLiteral(text, at, depth + 1);
    if (item === undefined) return undefined;
    items.push(item.value);
    at = skip(spaces, text, item.end);
    if (text[at] === ',') at = skip(spaces, text, at + 1);
    else if (text[at] !== close) return undefined;
  }
  return { value: items, end: at + 1 };
}

function readDict(text: string, start: number, depth: number): ReadLiteral | undefined {
  const entries: [string, Literal][] = [];
  let at = skip(spaces, text, start + 1);
  while (text[at] !== '}') {
    const key = readLiteral(text, at, depth + 1);
    if (typeof key?.value !== 'string') return undefined;
    at = skip(spaces, text, key.end);
    if (text[at] !== ':') return undefined;
    const item = readLiteral(text, at + 1, depth + 1);
    if (item === undefined) return undefined;
    entries.push([key.value, item.value]);
    at = skip(spaces, text, item.end);
    if (text[at] === ',') at = skip(spaces, text, at + 1);
    else if (text[at] !== '}') return undefined;
  }
  return { value: Object.fromEntries(entries), end: at + 1 };
}
