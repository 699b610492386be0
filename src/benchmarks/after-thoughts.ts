/** What a model says after thinking aloud: all, where it does not. */
export const afterThoughts = (text: string): string => text.split('</think>').at(-1)!;
