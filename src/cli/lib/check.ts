type CheckState = 'ok' | 'missing' | 'note';

/** One line of `genenv doctor`: `missing` makes it exit 1, `note` is for information. */
export interface Check {
  what: string;
  state: CheckState;
  finding: string;
  remedy: string;
}

export const ok = (what: string, finding: string): Check => ({ what, state: 'ok', finding, remedy: '' });
export const note = (what: string, finding: string, remedy = ''): Check => ({
  what,
  state: 'note',
  finding,
  remedy,
});
export const missing = (what: string, finding: string, remedy: string): Check => ({
  what,
  state: 'missing',
  finding,
  remedy,
});
