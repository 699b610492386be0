import type { Experiment } from '../contracts/experiment.ts';
import type { PublishInput } from '../contracts/phases.ts';
import type { Ports } from './ports.ts';
import { servePolicy } from './serve-policy.ts';

/** Makes a checkpoint reachable under its versioned name. */
export function createPublishPolicy(ports: Ports) {
  return async ({ run, policy }: PublishInput): Promise<void> => {
    const { serving } = await ports.store.json<Experiment>(run.experiment);
    await servePolicy(ports, serving, policy);
  };
}
