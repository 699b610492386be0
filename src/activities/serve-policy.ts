import { join } from 'node:path';
import type { ServingSettings } from '../contracts/policy-settings.ts';
import type { PolicyVersion } from '../contracts/phases.ts';
import { atomicWrite } from '../store/atomic-write.ts';
import type { Ports } from './ports.ts';

/**
 * Makes a checkpoint reachable under its versioned name; false where nothing can be done, because the weights are the server's own.
 * Idempotent: a name always means the same weights.
 */
export async function servePolicy(
  { store, loadOnServer }: Ports,
  serving: ServingSettings,
  { name, checkpoint }: PolicyVersion,
): Promise<boolean> {
  if (checkpoint === null) return false;
  if (serving.type === 'embedded') {
    await atomicWrite(
      join(store.root, 'served', `${name}.json`),
      `${JSON.stringify({ path: checkpoint.uri })}\n`,
    );
    return true;
  }
  if (serving.publish === 'none') return false;
  await loadOnServer(serving, name, store.path(checkpoint));
  return true;
}
