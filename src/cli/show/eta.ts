import type { Progress } from '../../contracts/progress.ts';

/** Seconds to the end at the pace of the last epochs; null where there is no pace yet, or nothing left. */
export function secondsLeft({ status, epoch, epochs, epochSeconds }: Progress): number | null {
  if (epochSeconds === null || status === 'finished' || status === 'preparing') return null;
  return Math.max(0, epochs - epoch + 1) * epochSeconds;
}
