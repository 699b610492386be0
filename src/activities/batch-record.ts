import type { Sampled } from '../contracts/records.ts';

/** A record of a training batch (docs/training-jobs.md): token ids as they were sampled, never decoded and encoded again; what was read between turns has mask 0. */
export function batchRecord(
  sampled: Sampled,
  rest: { step: number; group_id: string; env_name: string; advantage: number; weight: number },
): object {
  const {
    prompt_token_ids: prompt,
    token_ids: completion,
    logprobs,
    temperature,
    policy_version,
    mask,
  } = sampled;
  const zeros = prompt.map(() => 0);
  return {
    ...rest,
    token_ids: [...prompt, ...completion],
    mask: [...zeros, ...(mask ?? completion.map(() => 1))],
    logprobs: [...zeros, ...logprobs],
    temperature,
    policy_version,
  };
}
