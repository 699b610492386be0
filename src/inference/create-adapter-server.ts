/** Which servers an experiment's adapters are published to. */
import type { ServingSettings } from '../config/serving.ts';
import type { AdapterServer } from './adapter-server.ts';
import type { ServerAddress } from './server-urls.ts';
import { createSglangAdapters } from './sglang-adapters.ts';
import { createVllmAdapters } from './vllm-adapters.ts';

/** The server of adapters at an address, by the dialect of the settings. */
export const createAdapterServer = (
  { type }: Pick<ServingSettings, 'type'>,
  server: ServerAddress,
): AdapterServer => (type === 'sglang' ? createSglangAdapters(server) : createVllmAdapters(server));
