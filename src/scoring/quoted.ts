const shownCharacters = 120;

/** A short text that a model wrote, on one line, with nothing that a terminal would obey. */
export const quoted = (text: string): string =>
  JSON.stringify(text.length <= shownCharacters ? text : `${text.slice(0, shownCharacters)}...`).replaceAll(
    // Control characters that JSON lets through, and those that turn the direction of a text.
    /[\u007f-\u009f\u200e\u200f\u2028-\u202e\u2066-\u2069]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
