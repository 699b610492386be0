/** Model servers that leave the GPU to training jobs (`serving.sleepWhileTraining`). */
import type { ServingSettings } from '../config/serving.ts';
import type { AdapterServer } from './adapter-server.ts';
import type { ModelClients } from './model-clients.ts';
import { ModelUnavailable } from './policy-client.ts';

type Clients = Pick<ModelClients, 'adapterServers'>;

/** Before a training job. A server that is away holds no memory. @throws RequestRefused if one cannot sleep */
export const putServersToSleep = (clients: Clients, serving: ServingSettings): Promise<void> =>
  setAsleep(clients, serving, true);

/**
 * Before servers are used: when an epoch begins, whoever left them asleep, and when a policy is published, which
 * follows each training. @throws RequestRefused
 */
export const wakeServers = (clients: Clients, serving: ServingSettings): Promise<void> =>
  setAsleep(clients, serving, false);

async function setAsleep(clients: Clients, serving: ServingSettings, isAsleep: boolean): Promise<void> {
  if (serving.type !== 'vllm' || serving.sleepWhileTraining !== true) return;
  await Promise.all(
    clients.adapterServers(serving).map((server: AdapterServer) =>
      server.setAsleep(isAsleep).catch((error: unknown) => {
        // Whoever asks it next waits for it.
        if (!(error instanceof ModelUnavailable)) throw error;
      }),
    ),
  );
}
