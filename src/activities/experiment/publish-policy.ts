import type { Experiment } from '../../config/experiment.ts';
import { ensurePolicyServed } from '../../inference/publish.ts';
import type { PublishInput } from '../../types/activity-types.ts';
import type { Dependencies } from '../dependencies.ts';

/** Makes a checkpoint reachable under its versioned name. */
export function createPublishPolicy(dependencies: Dependencies) {
  return async ({ run, policy }: PublishInput): Promise<void> => {
    const { serving } = await dependencies.store.json<Experiment>(run.experiment);
    await ensurePolicyServed(dependencies, serving, policy);
  };
}
