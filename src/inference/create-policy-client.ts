/** Which client an experiment's policies have. */
import type { ServingSettings } from '../config/serving.ts';
import { createChatClient } from './chat-client.ts';
import { createChatPolicyClient } from './chat-policy-client.ts';
import { createCompletionsClient } from './completions-client.ts';
import type { PolicyClient } from './policy-client.ts';
import type { ServerAddress } from './server-urls.ts';
import { createSglangClient } from './sglang-client.ts';

/** Whether policies are asked by chat completions. */
export const isChatServing = (serving: ServingSettings): boolean =>
  serving.type === 'openai' && serving.api === 'chat';

/** The client of an experiment's policies on one server, by the endpoint that its settings name. */
export function createPolicyClient(serving: ServingSettings, server: ServerAddress): PolicyClient {
  if (serving.type === 'sglang') return createSglangClient(server);
  if (serving.type !== 'openai')
    return createCompletionsClient({ ...server, canBatchPrompts: serving.type === 'embedded' });
  return isChatServing(serving)
    ? createChatPolicyClient(createChatClient(server))
    : createCompletionsClient({ ...server, returnsTokenIds: serving.returnsTokenIds });
}
