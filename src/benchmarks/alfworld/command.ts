import { afterThoughts } from '../after-thoughts.ts';

/** Longest command that is kept of an answer, in UTF-16 units; those of the games stay below 100. */
const longest = 200;

/**
 * The command in what a model said, after any thoughts (`</think>`): its last `<action>` block; else what follows its last line that begins
 * with `Action:`; else its last line that says anything. One line, as the model wrote it; '' where there is none.
 */
export function commandIn(text: string): string {
  const said = afterThoughts(text);
  const command =
    lastOf(said, /<action>([^]*?)<\/action>/gi) ??
    lastOf(said, /^[ \t>*_`-]*action:(.*)$/gim) ??
    lastOf(said, /^(.*\S.*)$/gm) ??
    '';
  return command.replace(/\s+/g, ' ').trim().slice(0, longest);
}

/**
 * A command as the games take it: lower case, without quotes, marks and full stops around it, and `move X to Y` for the `put X in Y`, `on Y`
 * or `in/on Y` of the games before version 0.4, which older prompts teach.
 */
export function normalised(command: string): string {
  const bare = command
    .toLowerCase()
    .replace(/^[\s>*_`'"]+/, '')
    .replace(/[\s*_`'".,;!]+$/, '')
    .replace(/\s+/g, ' ');
  return bare.replace(/^put (.+?) (?:in\/on|into|onto|inside|in|on) (.+)$/, 'move $1 to $2');
}

const lastOf = (text: string, pattern: RegExp): string | undefined => [...text.matchAll(pattern)].at(-1)?.[1];
