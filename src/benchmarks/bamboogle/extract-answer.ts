import { afterThoughts } from '../after-thoughts.ts';

/**
 * The answer in what a model said, after any thoughts (`</think>`): its last `<answer>` block; else its last `<response>` block; else what
 * follows its last line that begins with `Answer:`; else all of it.
 */
export function extractAnswer(text: string): string {
  const said = afterThoughts(text);
  const block = lastOf(said, /<answer>([^]*?)<\/answer>/g) ?? lastOf(said, /<response>([^]*?)<\/response>/g);
  return (block ?? lastOf(said, /^[ \t]*\**Answer:\**(.*)$/gim) ?? said).trim();
}

const lastOf = (text: string, pattern: RegExp): string | undefined => [...text.matchAll(pattern)].at(-1)?.[1];
