/** Texts of models, servers and files, made safe for terminals, logs and Temporal. */
import { withoutSentKeys } from '../async/sent-keys.ts';

/** Characters of a text that is shown to people: enough for every message of this project. */
export const MAX_SHOWN_CHARACTERS = 2_000;

/**
 * Control characters but tab and line feed, and those that turn the direction of a text: a terminal would obey
 * them, and a reader would be misled by them.
 */
// eslint-disable-next-line no-control-regex -- they are what it looks for
const unsafeCharacters = /[\0-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]/g;

/**
 * A text with its unsafe characters written as `\u001b`, which leaves JSON what it is, halves of surrogate pairs
 * replaced, and without keys that were sent to servers.
 */
export const escapeControls = (text: string): string =>
  withoutSentKeys(text)
    .toWellFormed()
    .replaceAll(
      unsafeCharacters,
      (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
    );

/** The beginning of a text, in UTF-16 units, without half of a surrogate pair: what is stored must be well formed. */
export const cutText = (text: string, maxCharacters: number): string =>
  text.slice(0, maxCharacters).toWellFormed();

/**
 * A text as `escapeControls` writes it, of at most `maxCharacters`; what is cut off is counted. Takes no longer
 * for a text of megabytes.
 */
export function plainText(text: string, maxCharacters = MAX_SHOWN_CHARACTERS): string {
  const escaped = escapeControls(text.slice(0, maxCharacters));
  if (text.length <= maxCharacters && escaped.length <= maxCharacters) return escaped;
  const remark = `... (${text.length} characters)`;
  return `${cutText(escaped, maxCharacters - remark.length)}${remark}`;
}
