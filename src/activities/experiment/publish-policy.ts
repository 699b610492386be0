import type { Experiment } from '../../config/experiment.ts';
import { servePolicy } from '../../inference/publish.ts';
import type { Dependencies } from '../dependencies.ts';
import type { PublishInput } from '../../types/activity-types.ts';

/** Makes a checkpoint reachable under its versioned name. */
export function createPublishPolicy(dependencies: Dependencies) {
  return async ({ run, policy }: PublishInput): Promise<void> => {
    const { serving } = await dependencies.store.json<Experiment>(run.experiment);
    await servePolicy(dependencies, serving, policy);
  };
}
