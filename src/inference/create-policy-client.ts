/** Which client an experiment's policies have. */
import type { ServingSettings } from '../config/serving.ts';
import { createChatClient, createChatPolicyClient } from './chat-client.ts';
import { createCompletionsClient } from './completions-client.ts';
import type { PolicyClient } from './policy-client.ts';
import type { ServerAddress } from './server-urls.ts';
import { createSglangClient } from './sglang-client.ts';

/** The client of an experiment's policies, by the endpoint that its settings name. */
export function createPolicyClient(serving: ServingSettings, server: ServerAddress): PolicyClient {
  if (serving.type === 'sglang') return createSglangClient(server);
  if (serving.type !== 'openai')
    return createCompletionsClient({ ...server, canBatchPrompts: serving.type === 'embedded' });
  return serving.api === 'chat'
    ? createChatPolicyClient(createChatClient(server), server)
    : createCompletionsClient({ ...server, returnsTokenIds: serving.returnsTokenIds });
}
