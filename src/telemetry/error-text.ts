import { inspect } from 'node:util';
import { escapeControls } from '../formats/plain-text.ts';

/** Of each error: more than any stack of this project has, and little of a body that a server sent. */
const maxCharacters = 8_000;
const maxCauses = 5;

/**
 * An error for the worker's log, the one place that has stacks and causes: bounded, since messages hold what
 * servers answer, and without control characters, since people read the log in terminals.
 */
export function errorText(error: unknown): string {
  const texts: string[] = [];
  for (let cause = error; cause !== undefined && texts.length < maxCauses; cause = causeOf(cause)) {
    const text = cause instanceof Error ? (cause.stack ?? cause.message) : inspect(cause);
    texts.push(escapeControls(text.slice(0, maxCharacters)));
  }
  return texts.join('\ncaused by: ');
}

const causeOf = (error: unknown): unknown => (error instanceof Error ? error.cause : undefined);
