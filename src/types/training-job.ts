import { z } from 'zod';

/** The files between worker and trainer: docs/training-jobs.md. Field names are those that Python reads. */

/** All but `gradient_norms` train; that one measures, and writes no weights. */
export type JobKind = 'supervised' | 'grpo' | 'rwr' | 'gradient_norms';

export interface JobSettings {
  learning_rate: number;
  warmup_steps: number;
  schedule: 'constant' | 'cosine' | 'linear';
  schedule_steps: number | null;
  betas: [number, number];
  epsilon: number;
  weight_decay: number;
  max_grad_norm: number;
  loss_type: 'grpo' | 'dr_grpo' | 'dapo';
  max_completion_length: number;
  clip_low: number;
  clip_high: number;
  kl_coefficient: number;
  kl_estimator: 'k3' | 'exact';
  kl_bias_correction: boolean;
  entropy_coefficient: number;
  max_kl: number | null;
  kl_pull_back: number;
  tokens_per_micro_batch: number;
  min_informative_groups: number;
  policy_version: string | null;
  max_policy_lag: number;
}

export type JobModel =
  { path: string } | { scratch: { architecture: Record<string, unknown>; vocabulary: readonly string[] } };

export interface TrainingJob {
  format: 1;
  kind: JobKind;
  input_hash: string;
  fence: number;
  seed: number;
  device: 'auto' | 'cpu' | 'cuda';
  threads: number;
  precision: 'float32' | 'bfloat16';
  gradient_checkpointing: boolean;
  /** Null if jobs may share the device, as they do a processor. */
  device_lock: string | null;
  model: JobModel;
  adapter: { r: number; alpha: number; dropout: number; target_modules: string[] } | null;
  reference: { path: string } | null;
  trainer_state: string | null;
  batch: string;
  settings: JobSettings;
  checkpoint_every: number;
  orphan_grace_seconds: number;
}

export const progressSchema = z.object({
  phase: z.enum(['loading', 'waiting', 'step', 'saving']),
  step: z.int(),
  steps: z.int(),
  pid: z.int(),
  loss: z.number().nullish(),
});
export type JobProgress = z.infer<typeof progressSchema>;

/** Means over the records of a group: ‖A ∇ log π‖², ‖∇ log π‖² and tokens, A the record's advantage. */
const groupSchema = z.object({
  group_id: z.string(),
  rollouts: z.int(),
  squared_norm: z.number(),
  squared_score: z.number(),
  tokens: z.number(),
});

export const resultSchema = z.object({
  format: z.literal(1),
  input_hash: z.string(),
  steps: z.int(),
  steps_done: z.int(),
  /** Why no step was done; null if one was. */
  skipped: z.string().nullable(),
  /** Steps that changed nothing, by reason. */
  skipped_steps: z.record(z.string(), z.int()),
  kl: z.object({
    before: z.number().nullable(),
    after: z.number().nullable(),
    rule: z.enum(['none', 'pull_back', 'restored']),
  }),
  metrics: z.record(z.string(), z.number().nullable()),
  /**
   * Hashes that the two folders of `output/` have in a store: what is there now must still have them. Null
   * if no weights are written.
   */
  output: z.object({ checkpoint: z.string(), trainer_state: z.string() }).nullable(),
  /** Results of `gradient_norms` for each group of records. */
  groups: z.array(groupSchema).default([]),
});
export type JobResult = z.infer<typeof resultSchema>;

export const exitSchema = z.object({
  reason: z.string(),
  message: z.string().nullish(),
  file: z.string().nullish(),
});
export type JobExit = z.infer<typeof exitSchema>;
