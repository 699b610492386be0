/** What a guard of the report is judged by. */
export interface Rule {
  label: string;
  history: (number | null)[];
  threshold: string;
  /** null for a guard that is read, not judged. */
  isOk: ((value: number) => boolean) | null;
  explanation: string;
  format?: (value: number) => string;
  /** The value that is judged; by default the mean of the last five epochs. */
  judgedBy?: (history: number[]) => number | null;
}

export const latest = (history: number[]): number | null => history.at(-1) ?? null;
export const lowest = (history: number[]): number => Math.min(...history);
export const total = (history: number[]): number => history.reduce((sum, value) => sum + value, 0);
