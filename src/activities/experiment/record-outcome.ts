import type { EndInput } from '../../types/activity-inputs.ts';
import type { Dependencies } from '../dependencies.ts';

/** Records in the run's events how the run ended. */
export function createRecordOutcome(dependencies: Dependencies) {
  return async ({ id, outcome, epoch, reason }: EndInput): Promise<void> => {
    await dependencies
      .runFolder(id)
      .appendEvent({ type: 'ended', outcome, epoch, ...(reason !== undefined && { reason }) });
  };
}
