/** What a search for a text looks for: the text, and what is sure to stand in the base64 of anything with it. */
export const formsOf = (text: string): string[] => [
  text,
  ...[0, 1, 2].map((offset) =>
    Buffer.from(`${'-'.repeat(offset)}${text}`)
      .toString('base64')
      .slice(offset === 0 ? 0 : 4)
      .replace(/.{0,4}=*$/, ''),
  ),
];
