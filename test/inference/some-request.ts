import type { CompletionRequest } from '../../src/inference/policy-client.ts';

export const someRequest: CompletionRequest = {
  model: 'agent@0001-0123456789ab',
  prompts: ['a=', 'b=', 'c='],
  n: 2,
  seed: 7,
  temperature: 0.8,
  maxTokens: 6,
};
