import type { ServingSettings } from '../config/policies.ts';
import { chatPolicyServer, openAIChatServer } from './chat-client.ts';
import { openAIPolicyServer } from './completions-client.ts';
import type { PolicyServer } from './policy-client.ts';

/** The server of an experiment's policies, by the endpoint that its settings name. */
export function policyServerFor(
  serving: ServingSettings,
  at: { baseUrl: string; apiKey: string | undefined; timeoutMs: number },
): PolicyServer {
  if (serving.type === 'embedded') return openAIPolicyServer(at);
  return serving.api === 'chat'
    ? chatPolicyServer(openAIChatServer(at), at)
    : openAIPolicyServer({ ...at, returnsTokenIds: serving.returnsTokenIds });
}
