/** Fields of a server of one frozen model, whose answers are texts. */
import { z } from 'zod';
import { nameField } from './limited-fields.ts';
import { apiKeyEnv, httpUrl } from './server-address.ts';

export const frozenServerFields = {
  type: z.literal('openai'),
  baseUrl: httpUrl.describe('OpenAI-compatible server.'),
  apiKeyEnv,
  model: nameField.describe('Name of the model there; no other model of the run has the same.'),
  api: z.enum(['completions', 'chat']).optional().describe('Endpoint that is asked. Left out = completions.'),
};

export interface FrozenServer {
  type: 'openai';
  baseUrl: string;
  apiKeyEnv: string | null;
  model: string;
  api?: 'completions' | 'chat' | undefined;
}
