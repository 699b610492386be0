import type { RunEvent } from './file-schemas.ts';

const turnTypes = new Set(['started', 'resumed', 'moved', 'rewinding', 'rewound', 'ended']);

/** The last event by which a run started, went elsewhere or ended: it says what has become of it. */
export const lastTurn = <Event extends Pick<RunEvent, 'type'>>(events: readonly Event[]): Event | undefined =>
  events.findLast(({ type }) => turnTypes.has(type));

/** The quota that ended a run, as the event of its end says it; undefined for any other end. */
export const quotaReason = (
  turn: Pick<RunEvent, 'type' | 'outcome' | 'reason'> | undefined,
): string | undefined =>
  turn?.type === 'ended' && turn.outcome === 'token cap reached' ? turn.reason : undefined;
