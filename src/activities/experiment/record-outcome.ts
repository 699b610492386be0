import type { RunEvent } from '../../runs/file-schemas.ts';
import type { EndInput } from '../../types/activity-inputs.ts';
import type { Dependencies } from '../dependencies.ts';

/** Records in the run's events how the run ended, and why: a quota of its worker is an event before. */
export function createRecordOutcome(dependencies: Dependencies) {
  return async ({ id, outcome, epoch, reason: failure }: EndInput): Promise<void> => {
    const folder = dependencies.runFolder(id);
    const quota = outcome === 'token cap reached' ? (await folder.events()).findLast(isTurn) : undefined;
    const reason = failure ?? (quota?.type === 'quota' ? quota.reason : undefined);
    await folder.appendEvent({ type: 'ended', outcome, epoch, ...(reason !== undefined && { reason }) });
  };
}

const isTurn = ({ type }: RunEvent): boolean => ['started', 'resumed', 'quota'].includes(type);
