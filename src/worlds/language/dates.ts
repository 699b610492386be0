import { ExecutionFault } from './execution-fault.ts';

const day = 86_400_000;
const [earliest, latest] = [Date.UTC(1900, 0, 1), Date.UTC(2100, 11, 31)];
export const weekdays = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday'];

const timeOf = (date: string): number => Date.parse(`${date}T00:00:00Z`);

function dateOf(time: number): string {
  if (!(time >= earliest && time <= latest)) throw new ExecutionFault('too_large');
  return new Date(time).toISOString().slice(0, 10);
}

/** A day of the Gregorian calendar from 1900 to 2100, as `2026-02-28`. */
export function isDate(text: string): boolean {
  if (!/^\d{4}-\d\d-\d\d$/.test(text)) return false;
  const time = timeOf(text);
  // Some engines take 30 February for 2 March.
  return time >= earliest && time <= latest && dateOf(time) === text;
}

/** @throws ExecutionFault outside 1900 to 2100 */
export const addDays = (date: string, days: number): string => dateOf(timeOf(date) + days * day);

/** Days from one date to another, negative where that is earlier. */
export const daysBetween = (from: string, to: string): number => (timeOf(to) - timeOf(from)) / day;

export const weekday = (date: string): string => weekdays[new Date(timeOf(date)).getUTCDay()]!;
