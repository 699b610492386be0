/** One request for each prompt, to servers that would give all prompts of a request the same noise. */
import { mapConcurrent } from '../async/map-concurrent.ts';
import { promptSeed } from './policy-client.ts';
import type { Completion, CompletionRequest } from './policy-client.ts';
import { completionWithoutTokens, undefinedIfTooLong } from './prompt-too-long.ts';

/** Prompts in flight at a time: twice as many as most requests hold, and no more sockets than servers take. */
const MAX_PROMPTS_IN_FLIGHT = 128;

/**
 * Completes the prompts of a request side by side, so that the server batches them, each with a seed of its
 * own that its completions name. All of them are answered or none; a prompt that is too long is answered by
 * saying so.
 * @param send sends a request of one prompt, the given one of all; rejects with PromptTooLong for one that
 * the model has no room for
 * @throws what `send` throws first
 */
export async function completeSeparately(
  request: CompletionRequest,
  signal: AbortSignal,
  send: (single: CompletionRequest, signal: AbortSignal, prompt: number) => Promise<Completion[]>,
): Promise<Completion[]> {
  const answers = await mapConcurrent(
    [...request.prompts.keys()],
    MAX_PROMPTS_IN_FLIGHT,
    signal,
    async (prompt, stop): Promise<Completion[]> => {
      const single: CompletionRequest = {
        ...request,
        prompts: request.prompts.slice(prompt, prompt + 1),
        seed: promptSeed(request, prompt),
      };
      const completions =
        (await undefinedIfTooLong(send(single, stop, prompt))) ??
        Array.from({ length: request.n }, (_, sample) => completionWithoutTokens(prompt, sample));
      return completions.map((completion) => ({ ...completion, prompt, seed: single.seed }));
    },
  );
  return answers.flat();
}
