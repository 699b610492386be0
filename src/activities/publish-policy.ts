import { join } from 'node:path';
import type { Experiment } from '../contracts/experiment.ts';
import type { PublishInput } from '../contracts/phases.ts';
import { atomicWrite } from '../store/atomic-write.ts';
import type { Ports } from './ports.ts';

/** Makes a checkpoint reachable under its versioned name. Idempotent: a name always means the same weights. */
export function createPublishPolicy(ports: Ports) {
  return async ({ run, policy }: PublishInput): Promise<void> => {
    const { serving } = await ports.store.json<Experiment>(run.experiment);
    if (policy.checkpoint === null) return;
    const folder = ports.store.path(policy.checkpoint);
    if (serving.type === 'embedded') {
      await atomicWrite(join(ports.store.root, 'served', `${policy.name}.json`), `${JSON.stringify({ path: policy.checkpoint.uri })}\n`);
      return;
    }
    if (serving.publish === 'none') return;
    await ports.loadOnServer(serving, policy.name, folder);
  };
}
