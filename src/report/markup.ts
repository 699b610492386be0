/**
 * Markup of a page. A text becomes markup through the tag `markup` alone, which escapes whatever it interpolates
 * that is not markup itself; a plain string where markup belongs does not compile.
 */
export class Markup {
  readonly #text: string;

  private constructor(text: string) {
    this.#text = text;
  }

  /** Markup that this project wrote: scripts, style sheets. Never with a text of a model, a file or a person. */
  static trusted(text: string): Markup {
    return new Markup(text);
  }

  get text(): string {
    return this.#text;
  }

  get isEmpty(): boolean {
    return this.#text === '';
  }
}

type Interpolated = Markup | string | number | readonly (Markup | string | number)[];

/**
 * A template whose values are escaped, for text and for quoted attributes; markup among them stays as it is, and
 * lists are joined. A value that is no string, whatever its type says, is shown as text.
 */
export const markup = (texts: TemplateStringsArray, ...values: Interpolated[]): Markup =>
  Markup.trusted(texts.map((text, index) => text + textOf(values[index] ?? '')).join(''));

export const noMarkup = Markup.trusted('');

/** Joins pieces of markup, with a separator between them. */
export const joinMarkup = (pieces: readonly Markup[], separator: Markup = noMarkup): Markup =>
  Markup.trusted(pieces.map(({ text }) => text).join(separator.text));

function textOf(value: unknown): string {
  if (value instanceof Markup) return value.text;
  if (Array.isArray(value)) return value.map(textOf).join('');
  return escapeText(typeof value === 'string' ? value : String(value));
}

const entities: Record<string, string> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};
const escapeText = (text: string): string =>
  text.replace(/[&<>"']/g, (character) => entities[character] ?? character);
