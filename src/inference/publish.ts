/** How a policy's weights reach the server that answers for it. */
import { join } from 'node:path';
import { z } from 'zod';
import type { ServingSettings } from '../config/serving.ts';
import { atomicWrite } from '../store/atomic-write.ts';
import { readCanary } from '../store/canaries.ts';
import { InvalidArtifact } from '../store/errors.ts';
import { readJsonFile } from '../store/json-files.ts';
import type { ObjectStore } from '../store/object-store.ts';
import { parseRef } from '../store/references.ts';
import type { FolderRef } from '../store/references.ts';
import type { PolicyVersion } from '../types/run-state.ts';
import { canarySchema } from '../types/training-job.ts';
import { InvalidConfig } from '../validation/invalid-config.ts';
import { AdapterNotLoaded, publishAdapter } from './adapter-server.ts';
import type { ModelClients } from './model-clients.ts';
import { DamagedModel, ModelNotServed, ModelUnavailable, RequestRefused } from './policy-client.ts';

type PublishDependencies = Pick<ModelClients, 'adapterServers'> & { store: ObjectStore };

/**
 * Makes a checkpoint reachable under its versioned name; false if nothing can be done, because the weights
 * are the server's own. Idempotent: a name always means the same weights, and each server of adapters is
 * asked by a canary whether it has them.
 * @param isDamaged whether the server reported that its weights are missing or damaged; a bucket's are then fetched
 * @throws WrongWeights, InvalidArtifact for a damaged checkpoint, ModelUnavailable if no server could load it,
 * RequestRefused
 */
export async function ensurePolicyServed(
  { store, adapterServers }: PublishDependencies,
  serving: ServingSettings,
  { name, checkpoint }: PolicyVersion,
  isDamaged = false,
): Promise<boolean> {
  if (checkpoint === null) return false;
  requireServedName(name);
  parseRef(checkpoint);
  if (serving.type === 'embedded') {
    if (isDamaged) await store.check(checkpoint);
    await writeServedEntry(store, name, checkpoint);
    return true;
  }
  if (serving.type === 'openai' && serving.publish === 'none') return false;
  const canary = canarySchema.safeParse(await readCanary(store.root, checkpoint)).data;
  const servers = adapterServers(serving);
  const away: ModelUnavailable[] = [];
  for (const server of servers) {
    try {
      await publishAdapter(server, name, await store.localPath(checkpoint), canary);
    } catch (error) {
      // Whatever a server that answers says of an adapter, a damaged one is the reason.
      const isAway = error instanceof ModelUnavailable && !(error instanceof AdapterNotLoaded);
      if (!isAway) await store.check(checkpoint);
      if (!(error instanceof ModelUnavailable)) throw error;
      away.push(error);
    }
  }
  // One that is away gets the policy when it is back and is asked for it.
  if (away.length > 0 && away.length === servers.length) throw away[0]!;
  return true;
}

/**
 * Writes what the policy server answers for under a name. The server itself compares every byte of the weights
 * with their hash before it loads them.
 * @throws InvalidArtifact if the checkpoint is not in the store, or the name has other weights already: a name
 * says the first 12 digits of their hash, which whoever makes weights can meet twice
 */
async function writeServedEntry(store: ObjectStore, name: string, checkpoint: FolderRef): Promise<void> {
  const file = join(store.root, 'served', `${name}.json`);
  const text = `${JSON.stringify({ path: checkpoint.uri })}\n`;
  const before = await readJsonFile<unknown>(file, REMEDY).catch(() => undefined);
  const { path } = servedEntrySchema.safeParse(before).data ?? {};
  // This disk may have lost its copy since, or given it up for room: then it is fetched.
  await store.requireAll(checkpoint);
  if (path === checkpoint.uri) return;
  if (path !== undefined)
    throw new InvalidArtifact(file, 'it names other weights than are to be served under it', {}, REMEDY);
  // A torn entry is replaced, and so is a link in its place.
  await atomicWrite(file, text);
}

const servedEntrySchema = z.object({ path: z.string() });
const REMEDY = 'Remove it: it is written again when its policy is asked for.';

/**
 * A name becomes a file of the store, and may come from a ledger or a record that somebody else wrote.
 * @throws InvalidConfig for a name that the policy server would not serve
 */
function requireServedName(name: string): void {
  if (!/^[A-Za-z0-9_@][A-Za-z0-9._@+-]{0,119}$/.test(name))
    throw new InvalidConfig(
      'policy: its name cannot be served; expected letters, digits and ._@+-, 120 at most',
    );
}

/**
 * Lets the servers of adapters forget policies that nothing asks for any more. A server that cannot answer
 * now keeps them, which costs nothing but a line in its list of models.
 */
export async function withdrawPolicies(
  { adapterServers }: Pick<ModelClients, 'adapterServers'>,
  serving: ServingSettings,
  names: readonly string[],
): Promise<void> {
  if (names.length === 0 || serving.type === 'embedded') return;
  if (serving.type === 'openai' && serving.publish === 'none') return;
  for (const server of adapterServers(serving)) {
    for (const name of names) {
      try {
        await server.unload(name);
      } catch (error) {
        if (!(error instanceof ModelUnavailable || error instanceof RequestRefused)) throw error;
      }
    }
  }
}

/**
 * Sends a request; if the server has forgotten the policy, or its disk no longer has the weights whole, publishes
 * it and sends the request once more.
 * @param publish as `ensurePolicyServed`
 */
export async function resendIfPolicyMissing<Response>(
  send: () => Promise<Response>,
  publish: (isDamaged: boolean) => Promise<boolean>,
): Promise<Response> {
  try {
    return await send();
  } catch (error) {
    const isDamaged = error instanceof DamagedModel;
    const isMissing = isDamaged || error instanceof ModelNotServed;
    if (!isMissing || !(await publish(isDamaged))) throw error;
    return send();
  }
}
