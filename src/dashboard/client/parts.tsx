import type { Resource } from './resource.ts';

/** `2026-11-21 09:00:00` of an ISO time, in UTC. */
export const timeText = (at: string | null): string =>
  at === null || at === '' ? '–' : at.slice(0, 19).replace('T', ' ');

/** What stands in the place of a page that is not read yet, or cannot be. */
export const Unread = ({ resource: { problem } }: { resource: Pick<Resource<unknown>, 'problem'> }) =>
  problem === null ? (
    <p class="quiet">Loading …</p>
  ) : (
    <>
      <Problem text={problem} />
      <p>
        <a href="#/">All runs</a>
      </p>
    </>
  );

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
