import type { Message } from '../../formats/chat-messages.ts';
import { cutText } from '../../formats/plain-text.ts';
import { lastTaggedBlock } from '../../formats/tagged-blocks.ts';
import { stripReasoning } from '../../formats/toolrl.ts';
import type { GameState } from './engine.ts';

/** Whether the commands that a game admits are listed after what it says. */
export type Listing = 'admissible' | 'open';

/** ReAct's first sentence, and the commands in the words of the game's own `help`. */
const rules = `Interact with a household to solve a task. You are in a text game: each of your answers is one command, and the game says what comes of it.

Available commands:
  look: look around your current location
  inventory: check your current inventory
  go to (receptacle): move to a receptacle
  open (receptacle): open a receptacle
  close (receptacle): close a receptacle
  take (object) from (receptacle): take an object from a receptacle
  move (object) to (receptacle): place an object in or on a receptacle
  examine (something): examine a receptacle or an object
  use (object): use an object
  heat (object) with (receptacle): heat an object using a receptacle
  clean (object) with (receptacle): clean an object using a receptacle
  cool (object) with (receptacle): cool an object using a receptacle
  slice (object) with (object): slice an object using a sharp object

Objects and receptacles are named as the game names them, such as "mug 1" or "cabinet 3". You can take an object only where you are, and carry one at a time. A command that the game does not know, or that cannot be done now, costs a step, and the game answers "Nothing happens." You have 50 steps.

Answer with one line and nothing after it:
Action: <command>`;

/**
 * The game so far as a conversation: the game's text as user messages, commands as assistant messages,
 * without reasoning. Admissible commands are listed for the last state only: of 50 states they would fill the
 * prompt.
 */
export class Conversation {
  readonly #listing: Listing;
  readonly #before: Message[] = [{ role: 'system', content: rules }];
  #last: GameState;

  constructor(listing: Listing, first: GameState) {
    this.#listing = listing;
    this.#last = first;
  }

  append(command: string, seen: GameState): void {
    this.#before.push(
      { role: 'user', content: this.#last.observation },
      { role: 'assistant', content: `Action: ${command}` },
    );
    this.#last = seen;
  }

  messages(): Message[] {
    const { observation, admissible } = this.#last;
    const commandList = this.#listing === 'open' ? '' : `\n\nAdmissible commands:\n${admissible.join('\n')}`;
    return [...this.#before, { role: 'user', content: `${observation}${commandList}` }];
  }
}

/** Maximum length of a command, in UTF-16 units; commands of the games stay below 100. */
const MAX_COMMAND_LENGTH = 200;

/**
 * The command in what a model said, after any thoughts (`</think>`): its last `<action>` block; else what
 * follows its last line that begins with `Action:`; else its last line that says anything. One line, as the
 * model wrote it; '' if there is none.
 */
export function parseCommand(text: string): string {
  const answer = stripReasoning(text);
  const command =
    lastTaggedBlock(answer, 'action', 'gi') ??
    lastMatch(answer, /^[ \t>*_`-]*action:(.*)$/gim) ??
    lastMatch(answer, /^(.*\S.*)$/gm) ??
    '';
  return cutText(command.replace(/\s+/g, ' ').trim(), MAX_COMMAND_LENGTH);
}

/**
 * A command as the games take it: lower case, without quotes, marks and full stops around it, and `move X to
 * Y` for the `put X in Y`, `on Y` or `in/on Y` of the games before version 0.4, which older prompts teach.
 */
export function normalizeCommand(command: string): string {
  const bare = command
    .toLowerCase()
    .replace(/^[\s>*_`'"]+/, '')
    .replace(/[\s*_`'".,;!]+$/, '')
    .replace(/\s+/g, ' ');
  return bare.replace(/^put (.+?) (?:in\/on|into|onto|inside|in|on) (.+)$/, 'move $1 to $2');
}

const lastMatch = (text: string, pattern: RegExp): string | undefined =>
  [...text.matchAll(pattern)].at(-1)?.[1];
