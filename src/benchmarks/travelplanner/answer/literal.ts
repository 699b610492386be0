/**
 * A JSON value, or a Python literal of the same kinds (single quotes, None, True, False, a comma after the last item), read from the start
 * of a text: what comes after it is left. Nothing of the text is evaluated. Takes time linear in what it reads.
 */
export function readLiteral(text: string, start = 0): { value: unknown; end: number } | null {
  try {
    return new LiteralReader(text, start).read();
  } catch (error) {
    if (error === noLiteral) return null;
    throw error;
  }
}

/** One for all: a text may hold thousands of beginnings, and making an error each would take most of the time. */
const noLiteral = new Error('no literal');

/** Plans are lists of objects of texts: what is nested deeper is none. */
const deepest = 16;
const space = /\s*/uy;
const number = /-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/uy;
const word = /null|true|false|None|True|False/uy;
const words: Readonly<Record<string, unknown>> = { null: null, None: null, true: true, True: true, false: false, False: false };
const escapes: Readonly<Record<string, string>> = { n: '\n', t: '\t', r: '\r', b: '\b', f: '\f' };

class LiteralReader {
  readonly #text: string;
  #at: number;

  constructor(text: string, at: number) {
    this.#text = text;
    this.#at = at;
  }

  read(): { value: unknown; end: number } {
    return { value: this.#value(0), end: this.#at };
  }

  #value(depth: number): unknown {
    if (depth > deepest) throw noLiteral;
    this.#match(space);
    const next = this.#text[this.#at];
    if (next === '[') return this.#items(']', () => this.#value(depth + 1));
    // fromEntries defines properties: a key `__proto__` is one like others.
    if (next === '{') return Object.fromEntries(this.#items('}', () => this.#entry(depth + 1)));
    if (next === '"' || next === '\'') return this.#string(next);
    const named = this.#match(word);
    if (named !== null) return words[named];
    const digits = this.#match(number);
    if (digits === null) throw noLiteral;
    return Number(digits);
  }

  #items<Item>(close: string, item: () => Item): Item[] {
    const items: Item[] = [];
    this.#at++;
    while (!this.#takes(close)) {
      items.push(item());
      if (this.#takes(close)) break;
      if (!this.#takes(',')) throw noLiteral;
    }
    return items;
  }

  #entry(depth: number): [string, unknown] {
    this.#match(space);
    const quote = this.#text[this.#at];
    if (quote !== '"' && quote !== '\'') throw noLiteral;
    const key = this.#string(quote);
    if (!this.#takes(':')) throw noLiteral;
    return [key, this.#value(depth)];
  }

  #string(quote: string): string {
    const parts: string[] = [];
    let from = ++this.#at;
    while (this.#text[this.#at] !== quote) {
      if (this.#at >= this.#text.length) throw noLiteral;
      if (this.#text[this.#at] === '\\') {
        parts.push(this.#text.slice(from, this.#at), this.#escaped());
        from = this.#at;
      } else this.#at++;
    }
    parts.push(this.#text.slice(from, this.#at++));
    return parts.join('');
  }

  #escaped(): string {
    const letter = this.#text[this.#at + 1] ?? '';
    const code = /^u([0-9a-fA-F]{4})|^x([0-9a-fA-F]{2})/u.exec(this.#text.slice(this.#at + 1, this.#at + 6));
    this.#at += code === null ? 2 : 1 + code[0].length;
    return code === null ? (escapes[letter] ?? letter) : String.fromCharCode(Number.parseInt(code[1] ?? code[2]!, 16));
  }

  #takes(sign: string): boolean {
    this.#match(space);
    const taken = this.#text[this.#at] === sign;
    if (taken) this.#at++;
    return taken;
  }

  #match(pattern: RegExp): string | null {
    pattern.lastIndex = this.#at;
    const found = pattern.exec(this.#text)?.[0] ?? null;
    this.#at += found?.length ?? 0;
    return found;
  }
}
