/** The clients of model servers, as phases are given them. */
import type { ServingSettings } from '../config/policies.ts';
import type { ChatClient } from './chat-client.ts';
import type { PolicyClient } from './policy-client.ts';

export interface ModelClients {
  policyClient: (serving: ServingSettings, timeoutMs: number) => PolicyClient;
  /** Chat completions of any OpenAI-compatible server, or of the embedded one (null). */
  chatClient: (server: { baseUrl: string; apiKeyEnv: string | null } | null, timeoutMs: number) => ChatClient;
  /**
   * Loads new weights under a name on a server with OpenAI's API; loading a name twice changes nothing.
   */
  loadOnServer: (
    serving: Extract<ServingSettings, { type: 'openai' }>,
    name: string,
    folder: string,
  ) => Promise<void>;
}
