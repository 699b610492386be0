/**
 * Keys that this process has sent to servers. A server may repeat them in whatever it answers, so they are taken
 * out where texts leave: messages of failures, the log, the terminal. Part of the bundle of the workflows, where
 * there are none.
 */

/** Shorter keys, such as `none`, are no secrets, and would be found in ordinary words. */
const MIN_KEY_LENGTH = 6;
/** A text may have been cut inside of a key: so many of its first characters are enough. */
const MIN_CUT_LENGTH = 8;

const sentKeys = new Set<string>();

/** Remembers the keys among the headers of a request. */
export function rememberKeys(headers: Headers): void {
  for (const name of ['authorization', 'x-api-key']) rememberKey(headers.get(name) ?? '');
}

/** Remembers the value of a header that is a key, with or without its scheme. */
export function rememberKey(value: string): void {
  const key = value.replace(/^(?:Bearer|Basic) +/i, '');
  if (key.length >= MIN_KEY_LENGTH) sentKeys.add(key);
}

/**
 * What may follow in a key of which a text repeats the start: keys of one issuer begin alike, and a key that was
 * replaced may still be repeated.
 */
const isOfKey = (character: string | undefined): boolean =>
  character !== undefined && /[\w+/=~-]/.test(character);
const continuesKey = (text: string, at: number): boolean =>
  isOfKey(text[at]) || (text[at] === '.' && isOfKey(text[at + 1])) || text.startsWith('\\/', at);

/** A text with `(key)` for every key that was sent, also where JSON has escaped it or the text was cut in it. */
export function withoutSentKeys(text: string): string {
  const keys = [...sentKeys];
  const firsts = new Set(keys.map((key) => key.charAt(0)));
  let left = '';
  let end = 0;
  for (let at = 0; at < text.length; at += 1) {
    if (!firsts.has(text.charAt(at))) continue;
    const length = Math.max(...keys.map((key) => matchLength(text, at, key)));
    if (length === 0) continue;
    left += `${text.slice(end, at)}(key)`;
    end = at + length;
    while (continuesKey(text, end)) end += 1;
    at = end - 1;
  }
  return left + text.slice(end);
}

/** Characters of a text, from a place on, that repeat a key or its start; 0 if they do not. */
function matchLength(text: string, start: number, key: string): number {
  let at = start;
  let matched = 0;
  for (; matched < key.length; matched += 1, at += 1) {
    if (text[at] === '\\' && key[matched] !== '\\') at += 1;
    if (text[at] !== key[matched]) break;
  }
  return matched >= Math.min(MIN_CUT_LENGTH, key.length) ? at - start : 0;
}
