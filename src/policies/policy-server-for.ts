import type { ServingSettings } from '../contracts/policy-settings.ts';
import { chatPolicyServer } from './chat-policy-server.ts';
import { openAIChatServer } from './chat-server.ts';
import { openAIPolicyServer } from './openai-policy-server.ts';
import type { PolicyServer } from './policy-server.ts';

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
