import type { EndInput } from '../contracts/phases.ts';
import type { Ports } from './ports.ts';

/** Notes in the run's events how it ended. */
export function createRecordEnd(ports: Ports) {
  return async ({ id, ...ended }: EndInput): Promise<void> => {
    await ports.runFolder(id).appendEvent({ type: 'ended', ...ended });
  };
}
