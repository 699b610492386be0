/**
 * The words of a text without what stands before and after their letters and digits: `(Oslo)`, is `Oslo`. Linear in
 * the text, which a model wrote: `/\W+$/` would try a long run of brackets anew from each of them.
 */
export const plainWords = (text: string): string[] =>
  text.split(/\s+/).flatMap((word) => /\w(?:.*\w)?/.exec(word)?.[0] ?? []);
