import type { Ports } from '../../runtime/dependencies.ts';
import type { EndInput } from '../../types/activity-types.ts';

/** Notes in the run's events how it ended. */
export function createRecordEnd(ports: Ports) {
  return async ({ id, ...ended }: EndInput): Promise<void> => {
    await ports.runFolder(id).appendEvent({ type: 'ended', ...ended });
  };
}
