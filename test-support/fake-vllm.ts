/** The rules of vLLM 0.32 that a fake model server follows: seeds, lengths, adapters. */
import { deriveSeed } from '../src/numerics/random.ts';
import { LoadedAdapters } from './fake-adapters.ts';
import { fakeLikeliest } from './fake-weights.ts';
import type { Reply } from './model-server-faults.ts';

/**
 * How a server draws the samples of a request. `vllm`: every prompt has the request's seed, and sample j the
 * seed + j. `embedded`: from the seed, the prompt's place and the sample (docs/policy-server.md).
 */
export type SeedRule = 'vllm' | 'embedded';

export const drawSeed: Record<SeedRule, (seed: number, row: number, sample: number) => number> = {
  vllm: (seed, _row, sample) => seed + sample,
  embedded: (seed, row, sample) => deriveSeed(seed, row, sample),
};

const refusal = (status: number, message: string, type = 'BadRequestError'): Reply => ({
  status,
  body: { error: { message, type, param: null, code: status } },
});

/** Why vLLM refuses to complete prompts of these lengths; undefined if it does not. */
export function refusedLength(
  promptTokens: readonly number[],
  maxTokens: number,
  contextLength: number,
): Reply | undefined {
  if (maxTokens > contextLength)
    return refusal(
      400,
      `max_tokens=${maxTokens} cannot be greater than max_model_len=${contextLength}. ` +
        `Please request fewer output tokens. (parameter=max_tokens, value=${maxTokens})`,
    );
  const longest = Math.max(...promptTokens);
  if (longest > contextLength)
    return refusal(
      400,
      `This model's maximum context length is ${contextLength} tokens. However, your prompt contains at least ` +
        `${contextLength + 1} input tokens, which exceeds this limit even without any output tokens. Please ` +
        `reduce the length of the input prompt. (parameter=input_tokens, value=${contextLength + 1})`,
    );
  if (longest === contextLength)
    return refusal(400, 'max_tokens must be at least 1, got 0. (parameter=max_tokens, value=0)');
  return undefined;
}

/** Why the embedded policy server refuses to complete prompts of these lengths; undefined if it does not. */
export function refusedByEmbedded(
  promptTokens: readonly number[],
  maxTokens: number,
  contextLength: number,
): Reply | undefined {
  const longest = Math.max(...promptTokens);
  if (longest + maxTokens <= contextLength) return undefined;
  const message =
    `prompt: ${longest} tokens of prompt and ${maxTokens} to sample exceed the model's context of ` +
    `${contextLength}`;
  const code = 'context_length_exceeded';
  return {
    status: 400,
    body: { error: { message, type: 'invalid_request_error', param: 'prompt', code } },
  };
}

/** A completion request for the likeliest next tokens. */
export interface LikeliestRequest {
  model: string;
  prompt: number[][];
  logprobs: number;
}

/** The models of a server that was started with one base model and is given adapters. */
export class FakeAdapters extends LoadedAdapters {
  protected override readonly replies = {
    loaded: (name: string): Reply => ({
      status: 200,
      body: `Success: LoRA adapter '${name}' added successfully.`,
    }),
    loadedBefore: (name: string) =>
      refusal(
        400,
        `The lora adapter '${name}' has already been loaded. If you want to load the adapter in place, ` +
          "set 'load_inplace' to True.",
        'InvalidUserInput',
      ),
    noFolder: (name: string, folder: string) =>
      refusal(404, `Loading lora ${name} failed: No adapter found for ${folder}`, 'NotFoundError'),
    unloaded: (name: string): Reply => ({
      status: 200,
      body: `Success: LoRA adapter '${name}' removed successfully.`,
    }),
    unknown: (name: string) => refusal(404, `The lora adapter '${name}' cannot be found.`, 'NotFoundError'),
  };

  /** The refusal of a request to a model that is not there; undefined if it is. */
  refused(model: string): Reply | undefined {
    if (model === this.base.name || this.loaded.has(model)) return undefined;
    return refusal(404, `The model \`${model}\` does not exist.`, 'NotFoundError');
  }

  likeliest({ model, prompt, logprobs: count }: LikeliestRequest): Reply {
    const weights = this.loaded.get(model)?.weights ?? null;
    const choices = prompt.map((tokens, index) => {
      const top = [...fakeLikeliest(weights, tokens, count)];
      const top_logprobs = [Object.fromEntries(top.map(([token, value]) => [`token_id:${token}`, value]))];
      return { index, text: '', finish_reason: 'length', logprobs: { top_logprobs } };
    });
    return { status: 200, body: { object: 'text_completion', model, choices } };
  }

  /** Only the base model's card has a length. */
  models(): Reply {
    const card = (id: string, root: string, parent: string | null) => ({
      id,
      object: 'model',
      created: 0,
      owned_by: 'vllm',
      root,
      parent,
      max_model_len: parent === null ? (this.base.contextLength ?? null) : null,
    });
    const adapters = [...this.loaded].map(([name, { folder }]) => card(name, folder, this.base.name));
    return {
      status: 200,
      body: { object: 'list', data: [card(this.base.name, this.base.folder, null), ...adapters] },
    };
  }
}
