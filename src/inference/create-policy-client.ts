import type { ServingSettings } from '../config/policies.ts';
import { createChatClient, createChatPolicyClient } from './chat-client.ts';
import { createCompletionsClient } from './completions-client.ts';
import type { PolicyClient } from './policy-client.ts';

/** The server of an experiment's policies, by the endpoint that its settings name. */
export function createPolicyClient(
  serving: ServingSettings,
  at: { baseUrl: string; apiKey: string | undefined; timeoutMs: number },
): PolicyClient {
  if (serving.type === 'embedded') return createCompletionsClient(at);
  return serving.api === 'chat'
    ? createChatPolicyClient(createChatClient(at), at)
    : createCompletionsClient({ ...at, returnsTokenIds: serving.returnsTokenIds });
}
