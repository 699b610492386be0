/** Answers of worlds of several turns: the agent's actions, one a line. */
import { cutText } from '../formats/plain-text.ts';
import type { Format } from './json-tasks/prompts.ts';
import type { World } from './world.ts';

/** How actions are read and written, in the words of a world. */
interface ActionForm<Action> {
  parseAction(text: string): Action | undefined;
  printAction(action: Action): string;
}

/** Characters of an action that is none, for people to read. */
const MAX_SHOWN = 80;

/** An answer of these actions. */
export const writeActions = <Action>(form: ActionForm<Action>, actions: readonly Action[]): string =>
  actions.map((action) => form.printAction(action)).join('\n');

/** The actions of texts; undefined for a text that is none. */
export const readActions = <Action>(
  form: ActionForm<Action>,
  texts: readonly string[],
): (Action | undefined)[] => texts.map((text) => form.parseAction(text));

/** The actions of an answer, as many as a rollout may take. */
export const renderActions =
  <Action extends object>(form: ActionForm<Action>, turns: number): World['renderAnswer'] =>
  (answer) => ({
    actions: answer
      .split('\n')
      .slice(0, turns)
      .map((text) => form.parseAction(text) ?? { unparsable: cutText(text, MAX_SHOWN) }),
  });

/** What ends an observation in words, so that the agent writes next. */
export const frameObservation = (format: Format, text: string): string =>
  format === 'plain' ? `\n${text}\n` : `\n<|im_start|>user\n${text}<|im_end|>\n<|im_start|>assistant\n`;
