import { deriveSeed } from '../coevolution/seeds.ts';
import type { ChatServer } from './chat-server.ts';
import { ModelUnavailable, RequestRefused } from './policy-server.ts';
import type { Completion, PolicyServer } from './policy-server.ts';
import { sideBySide } from './side-by-side.ts';

/** Questions under way at a time: servers limit the rate of requests. */
const concurrency = 8;
/** Seeds that every compatible server takes. */
const seeds = 2 ** 31;

/**
 * A policy server out of chat completions, a question for each sample: texts alone, for frozen policies. A request is answered as a whole
 * or not at all, within `timeoutMs`, so a small `durability.promptsPerRequest` loses little.
 */
export function chatPolicyServer(
  server: ChatServer,
  { baseUrl, timeoutMs }: { baseUrl: string; timeoutMs: number },
): PolicyServer {
  return {
    async complete({ model, prompts, n, seed, temperature, maxTokens, schema }, signal) {
      const limit = AbortSignal.timeout(timeoutMs);
      const asked = prompts.flatMap((prompt, row) => {
        if (typeof prompt !== 'string')
          throw new RequestRefused(`${baseUrl}: chat completions take texts, not token ids`);
        return Array.from({ length: n }, (_, sample) => ({ prompt, row, sample }));
      });
      try {
        return await sideBySide(
          asked,
          concurrency,
          AbortSignal.any([signal, limit]),
          async ({ prompt, row, sample }, stop): Promise<Completion> => {
            const question = {
              model,
              messages: [{ role: 'user' as const, content: prompt }],
              seed: deriveSeed(seed, row, sample) % seeds,
              temperature,
              maxTokens,
              ...(schema && { schema }),
            };
            const { text, finish_reason } = await server.answer(question, stop);
            return {
              prompt: row,
              sample,
              text,
              prompt_token_ids: [],
              token_ids: [],
              logprobs: [],
              finish_reason,
            };
          },
        );
      } catch (error) {
        if (signal.aborted) throw signal.reason;
        if (limit.aborted)
          throw new ModelUnavailable(
            `${baseUrl} did not answer ${asked.length} questions for ${model} in ${timeoutMs} ms`,
            { cause: error },
          );
        throw error;
      }
    },
    tokenize: (model) =>
      Promise.reject(new RequestRefused(`${baseUrl}: chat completions of ${model} give no token ids`)),
  };
}
