/** 1234567 -> "1.2 MB". */
export function byteText(count: number): string {
  const units = ['B', 'kB', 'MB', 'GB', 'TB'];
  const power = Math.min(units.length - 1, count < 1000 ? 0 : Math.floor(Math.log10(count) / 3));
  return `${power === 0 ? count : (count / 1000 ** power).toFixed(1)} ${units[power] ?? 'B'}`;
}

/** 5000 -> "1 h 23 min"; the two largest units. */
export function durationText(seconds: number): string {
  if (seconds < 10) return `${seconds.toFixed(1)} s`;
  const rounded = Math.round(seconds);
  if (rounded < 60) return `${rounded} s`;
  const minutes = Math.floor(rounded / 60);
  if (minutes < 60) return `${minutes} min ${String(rounded % 60).padStart(2, '0')} s`;
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

/** 1234567 -> "1,234,567". */
export const countText = (count: number): string => Math.round(count).toLocaleString('en-US');

export const plural = (count: number, noun: string): string =>
  `${countText(count)} ${noun}${count === 1 ? '' : 's'}`;

/** Two decimals, or a dash if nothing was measured. */
export const rateText = (value: number | null | undefined, digits = 2): string =>
  value === null || value === undefined ? '–' : value.toFixed(digits);

/** An ISO time to the minute, or a dash. */
export const timeText = (iso: string | null): string =>
  iso === null ? '–' : iso.slice(0, 16).replace('T', ' ');

/** Columns of a terminal that tables and texts keep to. */
export const TEXT_COLUMNS = 110;

/**
 * A text in lines of at most 110 columns, unless a word is longer. The first line begins as the text does, with its
 * spaces; the others are indented.
 */
export function wrapText(text: string, indent: number): string {
  const lines = [/^ */.exec(text)![0]];
  for (const word of text.trimStart().split(' ')) {
    const line = lines.at(-1)!;
    if (line.trim() === '') lines[lines.length - 1] = line + word;
    else if (line.length + 1 + word.length <= TEXT_COLUMNS) lines[lines.length - 1] = `${line} ${word}`;
    else lines.push(' '.repeat(indent) + word);
  }
  return lines.join('\n');
}
