import type { Experiment } from '../../config/experiment.ts';
import { servePolicy } from '../../inference/publish.ts';
import type { Ports } from '../../runtime/dependencies.ts';
import type { PublishInput } from '../../types/activity-types.ts';

/** Makes a checkpoint reachable under its versioned name. */
export function createPublishPolicy(ports: Ports) {
  return async ({ run, policy }: PublishInput): Promise<void> => {
    const { serving } = await ports.store.json<Experiment>(run.experiment);
    await servePolicy(ports, serving, policy);
  };
}
