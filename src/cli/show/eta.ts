import type { Progress } from '../../types/activity-types.ts';

/** Seconds to the end at the pace of the last epochs; null where there is no pace yet, or nothing left. */
export function secondsLeft({ status, epoch, epochs, epochSeconds }: Progress): number | null {
  if (epochSeconds === null || !['running', 'paused', 'stopping'].includes(status)) return null;
  return Math.max(0, epochs - epoch + 1) * epochSeconds;
}

/** The last committed epoch: the one before that under way, where there is one under way. */
export const lastCommitted = ({ status, epoch }: Progress): number =>
  ['finished', 'stopped', 'token cap reached'].includes(status) ? epoch : epoch - 1;
