import type { Experiment } from '../../config/experiment.ts';
import { ensurePolicyServed, withdrawPolicies } from '../../inference/publish.ts';
import { wakeServers } from '../../inference/sleeping-servers.ts';
import { openRun } from '../../runs/ledger-entry.ts';
import { stalePolicies } from '../../runs/stale-policies.ts';
import type { PublishInput } from '../../types/activity-inputs.ts';
import type { Dependencies } from '../dependencies.ts';

/** Makes a checkpoint reachable under its versioned name, and lets servers forget what no epoch needs. */
export function createPublishPolicy(dependencies: Dependencies) {
  return async ({ run, policy }: PublishInput): Promise<void> => {
    const { serving } = await dependencies.store.json<Experiment>(run.experiment);
    await wakeServers(dependencies, serving);
    await ensurePolicyServed(dependencies, serving, policy);
    if (serving.type === 'embedded') return;
    const opened = await openRun(dependencies.runFolder(run.id));
    const lines = (await opened?.ledger.read()) ?? [];
    await withdrawPolicies(dependencies, serving, stalePolicies(lines, policy));
  };
}
