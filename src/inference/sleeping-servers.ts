/** Model servers that leave the GPU to training jobs (`serving.sleepWhileTraining`). */
import type { ServingSettings } from '../config/serving.ts';
import type { AdapterServer } from './adapter-server.ts';
import type { ModelClients } from './model-clients.ts';
import { ModelUnavailable } from './policy-client.ts';

type Clients = Pick<ModelClients, 'adapterServers'>;

/**
 * Before a training job. A server that is away holds no memory.
 * @throws RequestRefused if one cannot sleep, EndpointRefused if this worker may not ask it
 */
export async function putServersToSleep(clients: Clients, serving: ServingSettings): Promise<void> {
  if (sleeps(serving)) await setAsleep(clients.adapterServers(serving), true);
}

/**
 * Before a policy is published, and before a phase asks anything: a run that was ended in the midst of training left
 * them asleep. @throws as `putServersToSleep`
 */
export async function wakeServers(clients: Clients, serving: ServingSettings): Promise<void> {
  if (sleeps(serving)) await setAsleep(clients.adapterServers(serving), false);
}

const sleeps = (serving: ServingSettings): serving is Extract<ServingSettings, { type: 'vllm' }> =>
  serving.type === 'vllm' && serving.sleepWhileTraining === true;

async function setAsleep(servers: readonly AdapterServer[], isAsleep: boolean): Promise<void> {
  await Promise.all(
    servers.map((server) =>
      server.setAsleep(isAsleep).catch((error: unknown) => {
        // Whoever asks it next waits for it.
        if (!(error instanceof ModelUnavailable)) throw error;
      }),
    ),
  );
}
