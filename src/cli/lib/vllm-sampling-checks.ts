import { z } from 'zod';
import { recordOf } from '../../inference/answer-schemas.ts';
import type { Call } from '../../inference/server-calls.ts';
import { parseBody } from '../../inference/server-calls.ts';
import { missing, ok } from './check.ts';
import type { Check } from './check.ts';
import { LOGPROB_TOLERANCE, logprobsCheck } from './server-questions.ts';

const answerSchema = z.object({
  choices: z.tuple([
    z.object({
      token_ids: z.unknown().optional(),
      prompt_token_ids: z.unknown().optional(),
      logprobs: z.object({ top_logprobs: z.tuple([recordOf(z.number())]) }),
    }),
  ]),
});

/** One token after a short prompt. */
export const oneToken = (model: string) => ({ model, prompt: 'The', max_tokens: 1, temperature: 1, seed: 1 });

/** Nothing that a model's folder may say of sampling. */
const plainSampling = { top_p: 1, top_k: -1, min_p: 0, repetition_penalty: 1 };

/**
 * Token ids, and the distribution that log-probabilities are of.
 * @throws ModelUnavailable, InvalidAnswer
 */
export async function checkVllmSampling(call: Call, model: string): Promise<Check[]> {
  const sample = async (fields: object) => {
    const body = { ...oneToken(model), logprobs: 1, return_token_ids: true, ...fields };
    const { text } = await call('/v1/completions', body);
    const [choice] = parseBody(answerSchema, text, `completion of ${model}`).choices;
    return {
      hasTokenIds: Array.isArray(choice.token_ids) && Array.isArray(choice.prompt_token_ids),
      /** The largest log-probability of the next token. */
      top: Math.max(...Object.values(choice.logprobs.top_logprobs[0])),
    };
  };
  const cold = await sample({ ...plainSampling, temperature: 0.5 });
  const hot = await sample({ ...plainSampling, temperature: 2 });
  const plain = await sample({});
  const neutral = await sample(plainSampling);
  return [
    plain.hasTokenIds
      ? ok('Token ids', 'returned')
      : missing('Token ids', 'not returned', 'use a vLLM that knows return_token_ids (0.10.2 or newer)'),
    logprobsCheck(
      cold.top > hot.top + LOGPROB_TOLERANCE && hot.top <= 0,
      'start it with --logprobs-mode processed_logprobs',
    ),
    Math.abs(plain.top - neutral.top) < LOGPROB_TOLERANCE
      ? ok('Sampling', 'no defaults of the model’s folder')
      : missing(
          'Sampling',
          'top-k, top-p or a penalty of the model’s folder is applied',
          'start it with --generation-config vllm',
        ),
  ];
}
