import type { Resource } from './resource.ts';

export const percent = (value: number | null): string => (value === null ? '–' : value.toFixed(2));

export function durationText(seconds: number | null): string {
  if (seconds === null) return '–';
  if (seconds < 90) return `${Math.round(seconds)} s`;
  const minutes = Math.round(seconds / 60);
  if (minutes < 90) return `${minutes} min`;
  const hours = Math.floor(minutes / 60);
  return hours < 48 ? `${hours} h ${minutes % 60} min` : `${Math.floor(hours / 24)} d ${hours % 24} h`;
}

/** `2026-11-21 09:00:00` of an ISO time, in UTC. */
export const timeText = (at: string | null): string =>
  at === null || at === '' ? '–' : at.slice(0, 19).replace('T', ' ');

/** What stands in the place of a page that is not read yet, or cannot be. */
export const Unread = ({ resource: { problem } }: { resource: Resource<unknown> }) =>
  problem === null ? <p class="quiet">Loading …</p> : <Problem text={problem} />;

export const Problem = ({ text }: { text: string | null }) =>
  text === null ? null : (
    <p class="note warn" role="alert">
      {text}
    </p>
  );

const tones: Record<string, string> = {
  finished: 'good',
  running: 'live',
  failed: 'warn',
  unreadable: 'warn',
  interrupted: 'warn',
};

export const StatePill = ({ state }: { state: string }) => (
  <span class={`pill ${tones[state] ?? 'plain'}`}>{state}</span>
);

/** How far something is, as a bar with its text. */
export const ProgressBar = ({ done, all, label }: { done: number; all: number; label: string }) => (
  <progress value={Math.min(done, all)} max={Math.max(1, all)} aria-label={label}>
    {done} of {all}
  </progress>
);
