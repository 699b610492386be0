/** The clients of model servers, as phases are given them. */
import type { ServingSettings } from '../config/serving.ts';
import type { AdapterServer } from './adapter-server.ts';
import type { ChatClient } from './chat-client.ts';
import type { EmbeddingClient } from './embedding-client.ts';
import type { PolicyClient } from './policy-client.ts';

export interface ModelClients {
  policyClient: (serving: ServingSettings, timeoutMs: number) => PolicyClient;
  /** Chat completions of any OpenAI-compatible server, or of the one that serves an experiment's policies. */
  chatClient: (
    server: { baseUrl: string; apiKeyEnv: string | null } | ServingSettings,
    timeoutMs: number,
  ) => ChatClient;
  /** Embeddings of any server that has OpenAI's. */
  embeddingClient: (
    server: { baseUrl: string; apiKeyEnv: string | null },
    timeoutMs: number,
  ) => EmbeddingClient;
  /** The servers, one an address, that an experiment's policies are published to while they run. */
  adapterServers: (serving: Exclude<ServingSettings, { type: 'embedded' }>) => AdapterServer[];
}
