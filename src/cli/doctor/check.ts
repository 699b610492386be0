export type CheckState = 'ok' | 'missing' | 'note';

/** One line of `genenv doctor`: `missing` makes it exit 1, `note` is for information. */
export interface Check {
  what: string;
  state: CheckState;
  found: string;
  remedy: string;
}

export const ok = (what: string, found: string): Check => ({ what, state: 'ok', found, remedy: '' });
export const note = (what: string, found: string, remedy = ''): Check => ({
  what,
  state: 'note',
  found,
  remedy,
});
export const missing = (what: string, found: string, remedy: string): Check => ({
  what,
  state: 'missing',
  found,
  remedy,
});
