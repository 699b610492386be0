/** Policies by chat completions: texts alone, so they are never trained. */
import { mapConcurrent } from '../async/map-concurrent.ts';
import { deriveSeed } from '../numerics/random.ts';
import { SEED_LIMIT } from './chat-client.ts';
import type { ChatClient } from './chat-client.ts';
import { promptSeed, RequestRefused } from './policy-client.ts';
import type { Completion, PolicyClient } from './policy-client.ts';
import { completionWithoutTokens, undefinedIfTooLong } from './prompt-too-long.ts';

/** Questions in flight at a time: servers limit the rate of requests. */
const CONCURRENCY = 8;

/**
 * A policy client on top of chat completions, a question for each sample. A request is answered as a whole or not
 * at all, so a small `durability.promptsPerRequest` loses little. Each question has the client's limit of time; the
 * request has none, since a limit of the rate alone can make it long.
 */
export function createChatPolicyClient(client: ChatClient): PolicyClient {
  return {
    async complete(request, signal) {
      const { model, prompts, n, temperature, maxTokens, schema } = request;
      const samples = prompts.flatMap((prompt, row) =>
        Array.from({ length: n }, (_, sample) => ({ prompt: textOf(prompt, model), row, sample })),
      );
      return await mapConcurrent(
        samples,
        CONCURRENCY,
        signal,
        async ({ prompt, row, sample }, stop): Promise<Completion> => {
          const question = {
            model,
            messages: [{ role: 'user' as const, content: prompt }],
            seed: deriveSeed(promptSeed(request, row), sample) % SEED_LIMIT,
            temperature,
            maxTokens,
            ...(schema && { schema }),
          };
          const answer = await undefinedIfTooLong(client.answer(question, stop));
          const textOnly = completionWithoutTokens(row, sample, answer);
          return {
            ...textOnly,
            ...(answer && { tokens: answer.tokens }),
            ...(answer?.promptTokens !== undefined && { promptTokens: answer.promptTokens }),
            seed: question.seed,
          };
        },
      );
    },
    tokenize: (model) => Promise.reject(new RequestRefused(`chat completions of ${model} give no token ids`)),
    // What a chat template adds to a prompt is not known.
    contextLength: () => Promise.resolve(null),
    promptLength: (model) =>
      Promise.reject(new RequestRefused(`chat completions of ${model} count no tokens`)),
  };
}

function textOf(prompt: string | readonly number[], model: string): string {
  if (typeof prompt === 'string') return prompt;
  throw new RequestRefused(`chat completions of ${model} take texts, not token ids`);
}
