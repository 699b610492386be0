import type { AgentTraining, EnvironmentTraining } from '../config/policies.ts';
import type { Sampled } from '../types/records.ts';
import type { JobSettings } from '../types/training-job.ts';

/** Settings with no effect on the weights: each has its neutral value. */
export const NEUTRAL_JOB_SETTINGS: JobSettings = {
  learning_rate: 0,
  warmup_steps: 0,
  schedule: 'constant',
  schedule_steps: null,
  betas: [0.9, 0.999],
  epsilon: 1e-8,
  weight_decay: 0,
  max_grad_norm: 1,
  loss_type: 'dapo',
  max_completion_length: 1,
  clip_low: 0.2,
  clip_high: 0.2,
  kl_coefficient: 0,
  kl_estimator: 'k3',
  kl_bias_correction: false,
  entropy_coefficient: 0,
  max_kl: null,
  kl_pull_back: 0,
  max_step_kl: null,
  batch_layout: 'padded',
  tokens_per_micro_batch: 16_384,
  min_informative_groups: 0,
  normaliser_totals: null,
  policy_version: null,
  max_policy_lag: 0,
};

/** The settings that both updates share; the others are neutral. */
export function jobSettings(training: AgentTraining | EnvironmentTraining): JobSettings {
  return {
    ...NEUTRAL_JOB_SETTINGS,
    learning_rate: training.learningRate,
    warmup_steps: training.warmupSteps,
    schedule: training.schedule,
    schedule_steps: training.scheduleSteps,
    betas: training.betas,
    weight_decay: training.weightDecay,
    max_grad_norm: training.maxGradNorm,
    kl_coefficient: training.klCoefficient,
    kl_estimator: training.klEstimator,
    max_kl: training.maxKl,
    kl_pull_back: training.klPullBack,
    max_step_kl: training.maxStepKl ?? null,
    tokens_per_micro_batch: training.tokensPerMicroBatch,
  };
}

/** Number of a record's sampled tokens, which the loss is over. */
export const activeTokens = (mask: readonly number[]): number => mask.filter((active) => active === 1).length;

/** Whether there is anything to learn from a record: a prompt that was too long has none. */
export const hasSampledTokens = ({ token_ids, mask }: Sampled): boolean =>
  mask === undefined ? token_ids.length > 0 : mask.includes(1);

/** What a batch says of a sequence besides its tokens. */
interface RecordFields {
  step: number;
  group_id: string;
  env_name: string;
  advantage: number;
  weight: number;
}

/** A line of a batch (docs/training-jobs.md). */
export interface TrainingRecord extends RecordFields {
  token_ids: number[];
  mask: number[];
  logprobs: number[];
  temperature: number;
  policy_version: string;
}

/**
 * A record of a training batch (docs/training-jobs.md): token ids as they were sampled, never decoded and
 * encoded again. The prompt, and what was read between turns, have mask 0.
 */
export function batchRecord(sampled: Sampled, fields: RecordFields): TrainingRecord {
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
    ...fields,
    token_ids: [...prompt, ...completion],
    mask: [...zeros, ...(mask ?? completion.map(() => 1))],
    logprobs: [...zeros, ...logprobs],
    temperature,
    policy_version,
  };
}
