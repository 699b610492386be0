/** The clients of model servers, as phases are given them. */
import type { ServingSettings } from '../config/policies.ts';
import type { ChatClient } from './chat-client.ts';
import type { PolicyClient } from './policy-client.ts';

export interface ModelClients {
  policyClient: (serving: ServingSettings, timeoutMs: number) => PolicyClient;
  /** Chat completions of any OpenAI-compatible server, or of the one that serves an experiment's policies. */
  chatClient: (
    server: { baseUrl: string; apiKeyEnv: string | null } | ServingSettings,
    timeoutMs: number,
  ) => ChatClient;
  /**
   * Loads new weights under a name on each server of an experiment; loading a name twice changes nothing.
   */
  loadOnServer: (
    serving: Exclude<ServingSettings, { type: 'embedded' }>,
    name: string,
    folder: string,
  ) => Promise<void>;
}
