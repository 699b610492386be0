/**
 * The content of the last `<tag>…</tag>` in a text, as a pattern that takes the nearest end would find it, but
 * in linear time: models write long runs of tags that nothing closes.
 */
export function lastTaggedBlock(text: string, tag: string, flags: 'g' | 'gi' = 'g'): string | undefined {
  let start: number | undefined;
  let last: string | undefined;
  for (const { 0: mark, 1: slash, index } of text.matchAll(new RegExp(`<(/?)${tag}>`, flags))) {
    if (slash === '') start ??= index + mark.length;
    else if (start !== undefined) {
      last = text.slice(start, index);
      start = undefined;
    }
  }
  return last;
}
