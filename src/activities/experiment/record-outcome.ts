import type { EndInput } from '../../types/activity-types.ts';
import type { Dependencies } from '../dependencies.ts';

/** Notes in the run's events how it ended. */
export function createRecordEnd(dependencies: Dependencies) {
  return async ({ id, ...ended }: EndInput): Promise<void> => {
    await dependencies.runFolder(id).appendEvent({ type: 'ended', ...ended });
  };
}
