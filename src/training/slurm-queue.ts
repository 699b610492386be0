/** What `squeue` says of jobs. */
import type { JobState } from './launcher.ts';

/** Number, state, reason, submitted, started, comment; the comment is last, since it may hold anything. */
export const queueFormat = '%i|%T|%r|%V|%S|%k';

export interface QueueLine {
  id: string;
  /** In Slurm's words: `PENDING`. */
  state: string;
  reason: string;
  submitted: string;
  /** Expected, as long as it waits. */
  started: string;
  comment: string;
}

/** Lines that are none, such as a warning of a plugin, are passed over. */
export function parseQueue(text: string): QueueLine[] {
  return text.split('\n').flatMap((line) => {
    const [id = '', state = '', reason = '', submitted = '', started = '', ...comment] = line.split('|');
    if (!/^\d{1,12}$/.test(id.trim()) || comment.length === 0) return [];
    return [{ id: id.trim(), state, reason, submitted, started, comment: comment.join('|').trim() }];
  });
}

/** States of jobs that have not begun, or that Slurm has stopped for others. */
const waiting = new Set([
  ...['PENDING', 'CONFIGURING', 'SUSPENDED', 'STOPPED'],
  ...['REQUEUED', 'REQUEUE_HOLD', 'REQUEUE_FED', 'RESV_DEL_HOLD', 'SPECIAL_EXIT'],
]);
const running = new Set(['RUNNING', 'COMPLETING', 'RESIZING', 'SIGNALING', 'STAGE_OUT']);

/** @param position among the jobs that wait, counted from 1 */
export function stateOf({ state, reason }: QueueLine, position?: number): JobState {
  if (running.has(state)) return { state: 'running' };
  if (waiting.has(state)) {
    const why = state === 'PENDING' ? reason : state;
    return { state: 'queued', reason: why, ...(position !== undefined && { position }) };
  }
  return { state: 'ended', reason: state, ...(state === 'COMPLETED' && { code: 0 }) };
}

/** Milliseconds from a job's submission to its start, by Slurm's clock; undefined if it has not begun. */
export function waitedMs({ state, submitted, started }: QueueLine): number | undefined {
  if (waiting.has(state)) return undefined;
  const ms = Date.parse(`${started}Z`) - Date.parse(`${submitted}Z`);
  return Number.isFinite(ms) ? ms : undefined;
}
