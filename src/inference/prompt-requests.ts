/** How the prompts of a request go to a server: each alone, or all together. */
import { mapConcurrent } from '../async/map-concurrent.ts';
import { deriveSeed } from '../numerics/random.ts';
import { promptSeed } from './policy-client.ts';
import type { Completion, CompletionRequest } from './policy-client.ts';
import { completionWithoutTokens, undefinedIfTooLong } from './prompt-too-long.ts';

/** Sends a request; rejects with PromptTooLong if the model has no room for one of its prompts. */
type Send = (request: CompletionRequest, signal: AbortSignal) => Promise<Completion[]>;

/** Prompts in flight at a time: twice as many as most requests hold, and no more sockets than servers take. */
const MAX_PROMPTS_IN_FLIGHT = 128;

/**
 * Completes the prompts of a request side by side, so that the server batches them, each with a seed of its
 * own that its completions name. All of them are answered or none; a prompt that is too long is answered by
 * saying so.
 * @throws what `send` throws first
 */
export async function completeSeparately(
  request: CompletionRequest,
  signal: AbortSignal,
  send: Send,
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
        (await undefinedIfTooLong(send(single, stop))) ??
        Array.from({ length: request.n }, (_, sample) => completionWithoutTokens(prompt, sample));
      return completions.map((completion) => ({ seed: single.seed, ...completion, prompt }));
    },
  );
  return answers.flat();
}

/**
 * Completes the prompts of a request in one, for a server that draws each of them from a random stream of its
 * own. A request with a prompt that is too long is halved until such prompts are alone, each half with a seed
 * of its own that its completions name.
 * @throws what `send` throws first
 */
export async function completeTogether(
  request: CompletionRequest,
  signal: AbortSignal,
  send: Send,
): Promise<Completion[]> {
  const { prompts, n } = request;
  const completions = await undefinedIfTooLong(send(request, signal));
  if (completions !== undefined) return completions;
  if (prompts.length === 1)
    return Array.from({ length: n }, (_, sample) => completionWithoutTokens(0, sample));
  const middle = Math.ceil(prompts.length / 2);
  const halves: Completion[] = [];
  for (const [half, from] of [0, middle].entries()) {
    const seed = deriveSeed(request.seed, 'half', half);
    const part = { ...request, prompts: prompts.slice(from, from + middle), seed };
    for (const completion of await completeTogether(part, signal, send))
      halves.push({ seed, ...completion, prompt: completion.prompt + from });
  }
  return halves;
}
