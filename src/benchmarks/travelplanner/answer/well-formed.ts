/** A text that JSON can carry: half a surrogate pair, which a cut answer may end in, becomes a replacement character. */
export const wellFormed = (text: string): string => text.replace(/\p{Surrogate}/gu, '\uFFFD');
