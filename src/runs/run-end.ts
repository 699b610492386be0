import type { Experiment } from '../config/experiment.ts';
import { quotaReason } from './last-turn.ts';
import type { RunEvent } from './file-schemas.ts';

/** `out of quota`: a quota of its worker ended it. */
export type RunEnd = 'finished' | 'stopped' | 'cancelled' | 'failed' | 'out of quota';

type Turn = Pick<RunEvent, 'type' | 'outcome' | 'reason'>;

/**
 * How a run has ended, by its files; null if it has epochs left, and nothing has ended it. A ledger with all epochs is
 * finished, whatever its events say.
 * @param settings in effect; null if they cannot be read: the events alone then say it
 * @param tokens sampled until its last epoch
 */
export function runEnd(
  settings: Pick<Experiment, 'epochs' | 'maxTokens'> | null,
  { epoch, tokens }: { epoch: number | null; tokens: number },
  turn: Turn | undefined,
): RunEnd | null {
  if (settings !== null && epoch !== null && isComplete(settings, epoch, tokens)) return 'finished';
  const early = earlyEnd(turn);
  const isSaid = turn?.outcome === 'finished' || turn?.outcome === 'token cap reached';
  return early ?? (settings === null && isSaid ? 'finished' : null);
}

/** Whether no epoch is left: all are committed, or the run's own cap of tokens is reached. */
export const isComplete = (
  { epochs, maxTokens }: Pick<Experiment, 'epochs' | 'maxTokens'>,
  epoch: number,
  tokens: number,
): boolean => epoch >= epochs || (maxTokens !== null && tokens >= maxTokens);

/** How a run ended that has epochs left; null if nothing has ended it. */
export function earlyEnd(turn: Turn | undefined): Exclude<RunEnd, 'finished'> | null {
  if (turn?.type !== 'ended') return null;
  const { outcome } = turn;
  if (outcome === 'stopped' || outcome === 'cancelled' || outcome === 'failed') return outcome;
  return quotaReason(turn) === undefined ? null : 'out of quota';
}
