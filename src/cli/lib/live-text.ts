import { createLogUpdate } from 'log-update';
import { escapeControls } from '../../formats/plain-text.ts';

/** A text that is drawn in place on a terminal, which obeys nothing in it. */
export interface LiveText {
  show: (text: string) => void;
  /** Leaves what was drawn last, and draws below it from here on. */
  done: () => void;
}

export function createLiveText(terminal: NodeJS.WriteStream): LiveText {
  const log = createLogUpdate(terminal);
  return { show: (text) => log(escapeControls(text)), done: () => log.done() };
}
