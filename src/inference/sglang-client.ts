/**
 * A policy client by SGLang's own completions (`/generate`), which take a seed for each sample. OpenAI's, as
 * SGLang has them, do not, and its documentation has no token ids of them.
 * Written from the documentation and the source of SGLang 0.5.23; never tried on one.
 */
import { z } from 'zod';
import { deriveSeed } from '../numerics/random.ts';
import { boundAnswer, checkTextLength, maxAnswerBytes, maxAnswerValues } from './answer-limits.ts';
import { checkAnswer, listOf } from './answer-schemas.ts';
import { createChatClient } from './chat-client.ts';
import type { ChatClient } from './chat-client.ts';
import { createServerClient } from './completions-client.ts';
import { logprobSchema } from './completion-answers.ts';
import { abortedAnswer } from './model-errors.ts';
import { InvalidAnswer } from './policy-client.ts';
import type { Completion, CompletionRequest, PolicyClient } from './policy-client.ts';
import type { ServerAddress } from './server-urls.ts';
import { serverRoot } from './server-urls.ts';

/** [log-probability, token id, text or null] */
export const sglangLogprob = z.tuple([logprobSchema, z.int().min(0)]).rest(z.unknown());

const answerSchema = listOf(
  z.object({
    text: z.string(),
    output_ids: listOf(z.int().min(0)),
    meta_info: z.object({
      prompt_tokens: z.int().min(0),
      finish_reason: z.object({ type: z.string(), message: z.string().nullish() }),
      output_token_logprobs: listOf(sglangLogprob).nullish(),
    }),
  }),
);

/**
 * Sampling without what a server may add by default (`--preferred-sampling-params`): log-probabilities are of
 * the distribution at this temperature before top-k, top-p and min-p, so these have to be off.
 */
export const plainSampling = {
  top_p: 1,
  top_k: -1,
  min_p: 0,
  repetition_penalty: 1,
  frequency_penalty: 0,
  presence_penalty: 0,
};

/** The client of an SGLang, with policies as adapters. It never retries by itself: the activity does. */
export function createSglangClient(server: ServerAddress): PolicyClient {
  const root = serverRoot(server.baseUrl);
  return createServerClient(
    { ...server, baseUrl: `${root}/v1` },
    async ({ client, tokenize }, request, signal) => {
      const answers = await Promise.all(
        (request.prompts as (string | number[])[]).map(async (prompt, index) => {
          const ids =
            typeof prompt === 'string' ? await tokenize(request.model, prompt, true, signal) : prompt;
          const answer: unknown = await client.post(`${root}/generate`, {
            body: generateRequest(request, ids),
            signal,
            ...boundAnswer(maxAnswerBytes({ ...request, prompts: [ids] })),
          });
          return parseAnswer(answer, request, { index, ids, root });
        }),
      );
      return answers.flat();
    },
  );
}

/**
 * The client of an SGLang's chat completions. They take an adapter's name behind a colon, after any name of the
 * base model; a name without one would be answered by the base model.
 */
export function createSglangChatClient(server: ServerAddress): ChatClient {
  const client = createChatClient({ ...server, baseUrl: `${serverRoot(server.baseUrl)}/v1` });
  return {
    answer: (request, signal) => client.answer({ ...request, model: `base:${request.model}` }, signal),
  };
}

/**
 * The samples of a prompt, each as a prompt with a seed of its own: SGLang would give all `n` samples of one
 * prompt the same seed, and its noise follows from the seed and a token's place alone, so that they were equal.
 */
const generateRequest = (request: CompletionRequest, ids: number[]): object => ({
  input_ids: Array.from({ length: request.n }, () => ids),
  sampling_params: Array.from({ length: request.n }, (_, sample) => ({
    ...plainSampling,
    temperature: request.temperature,
    max_new_tokens: request.maxTokens,
    sampling_seed: deriveSeed(request.seed, 'sample', sample),
    ...(request.stop && { stop: [...request.stop] }),
    ...structureParameters(request),
  })),
  lora_path: request.model,
  return_logprob: true,
});

/** Structured output. */
export const structureParameters = ({
  schema,
  grammar,
}: Pick<CompletionRequest, 'schema' | 'grammar'>): { json_schema?: string; ebnf?: string } => ({
  ...(schema && { json_schema: JSON.stringify(schema) }),
  ...(grammar !== undefined && { ebnf: grammar }),
});

/** @throws InvalidAnswer, ModelUnavailable for samples that the server gave up */
function parseAnswer(
  answer: unknown,
  request: CompletionRequest,
  { index, ids, root }: { index: number; ids: number[]; root: string },
): Completion[] {
  const { model, n, maxTokens } = request;
  const maxValues = maxAnswerValues({ ...request, prompts: [ids] });
  const samples = checkAnswer(answerSchema, answer, `answer of ${model}`, maxValues);
  if (samples.length !== n)
    throw new InvalidAnswer(`answer of ${model} has ${samples.length} samples; ${n} were asked`);
  return samples.map(({ text, output_ids: tokens, meta_info: meta }, sample) => {
    const { finish_reason: finish, output_token_logprobs: logprobs, prompt_tokens: promptTokens } = meta;
    if (finish.type === 'abort') throw abortedAnswer(root, model, finish.message ?? undefined);
    if (promptTokens !== ids.length)
      throw new InvalidAnswer(
        `sample ${sample} of ${model} follows ${promptTokens} tokens; ${ids.length} were sent: was SGLang ` +
          'started with --allow-auto-truncate?',
      );
    const isComplete =
      logprobs?.length === tokens.length && logprobs.every(([, token], at) => token === tokens[at]);
    if (!isComplete)
      throw new InvalidAnswer(
        `sample ${sample} of ${model} has log-probabilities of other tokens than its own`,
      );
    if (tokens.length > maxTokens)
      throw new InvalidAnswer(
        `sample ${sample} of ${model} has ${tokens.length} tokens; at most ${maxTokens} were asked`,
      );
    checkTextLength(text, maxTokens, `sample ${sample} of ${model}`);
    return {
      prompt: index,
      sample,
      // Half of a surrogate pair, which JSON lets through, cannot be stored as UTF-8.
      text: text.toWellFormed(),
      prompt_token_ids: ids,
      token_ids: tokens,
      logprobs: logprobs.map(([logprob]) => logprob),
      finish_reason: finish.type,
    };
  });
}
