import { z } from 'zod';

/**
 * The files through which worker and trainer speak: docs/training-jobs.md. Field names are those that Python
 * reads; test/contract checks both sides against the same files.
 */

/** All but `gradient_norms` train; that one measures, and writes no weights. */
const jobKindSchema = z.enum(['supervised', 'grpo', 'rwr', 'gradient_norms']);
export type JobKind = z.infer<typeof jobKindSchema>;

/** What a step's policy term is divided by, with groups that the batch leaves out. */
const stepTotalsSchema = z.strictObject({ sequences: z.int().min(0), active_tokens: z.int().min(0) });
export type StepTotals = z.infer<typeof stepTotalsSchema>;

const settingsSchema = z.strictObject({
  learning_rate: z.number(),
  warmup_steps: z.int(),
  schedule: z.enum(['constant', 'cosine', 'linear']),
  schedule_steps: z.int().nullable(),
  betas: z.tuple([z.number(), z.number()]),
  epsilon: z.number(),
  weight_decay: z.number(),
  max_grad_norm: z.number(),
  loss_type: z.enum(['grpo', 'dr_grpo', 'dapo']),
  max_completion_length: z.int(),
  clip_low: z.number(),
  clip_high: z.number(),
  kl_coefficient: z.number(),
  kl_estimator: z.enum(['k3', 'exact']),
  kl_bias_correction: z.boolean(),
  entropy_coefficient: z.number(),
  max_kl: z.number().nullable(),
  kl_pull_back: z.number(),
  max_step_kl: z.number().positive().nullable(),
  batch_layout: z.enum(['padded', 'packed']),
  tokens_per_micro_batch: z.int(),
  min_informative_groups: z.int(),
  /** By step; null = those of the batch's own records. */
  normaliser_totals: z.array(stepTotalsSchema).nullable(),
  policy_version: z.string().nullable(),
  max_policy_lag: z.int(),
});
export type JobSettings = z.infer<typeof settingsSchema>;

const modelSchema = z.union([
  z.strictObject({ path: z.string() }),
  z.strictObject({
    scratch: z.strictObject({
      architecture: z.record(z.string(), z.unknown()),
      vocabulary: z.array(z.string()).readonly(),
    }),
  }),
]);
export type JobModel = z.infer<typeof modelSchema>;

/** Every field is written: the trainer has no defaults, and refuses a job that lacks one. */
export const trainingJobSchema = z.strictObject({
  format: z.literal(1),
  kind: jobKindSchema,
  input_hash: z.string(),
  fence: z.int(),
  seed: z.int(),
  device: z.enum(['auto', 'cpu', 'cuda']),
  threads: z.int(),
  /** Whether each micro-batch draws its own random numbers, or continues where the one before it stopped. */
  random_stream: z.enum(['job', 'micro_batch']),
  /** `full` = each process has a part of the weights. */
  sharding: z.enum(['none', 'full']),
  precision: z.enum(['float32', 'bfloat16']),
  gradient_checkpointing: z.boolean(),
  /** Null if jobs may share the device, as they do a processor. */
  device_lock: z.string().nullable(),
  model: modelSchema,
  adapter: z
    .strictObject({
      r: z.int(),
      alpha: z.int(),
      dropout: z.number(),
      target_modules: z.array(z.string()),
    })
    .nullable(),
  reference: z.strictObject({ path: z.string() }).nullable(),
  trainer_state: z.string().nullable(),
  batch: z.string(),
  settings: settingsSchema,
  checkpoint_every: z.int(),
  orphan_grace_seconds: z.number(),
});
export type TrainingJob = z.infer<typeof trainingJobSchema>;

export const progressSchema = z.object({
  phase: z.enum(['loading', 'waiting', 'step', 'saving']),
  step: z.int(),
  steps: z.int(),
  /** 1 and less are no process of a job: signals to them reach others. */
  pid: z.int().min(2),
  /** Absent in what older trainers wrote. */
  host: z.string().optional(),
  /** When the process was started, in the system's own terms: tells it from a later one of that number. */
  started: z.string().optional(),
  loss: z.number().nullish(),
  /** What the job has allocated on its GPU at most so far; absent without a GPU. */
  gpu_memory_bytes: z.int().min(0).nullish(),
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

const likeliestSchema = z.object({ token_ids: z.array(z.int()), logprobs: z.array(z.number()) });
/**
 * Places in a short text: the likeliest next tokens with their log-probabilities at temperature 1, under the
 * adapter that the job wrote and under its base model alone.
 */
export const canarySchema = z.array(
  z.object({ prompt: z.array(z.int()), adapter: likeliestSchema, base: likeliestSchema }),
);
export type Canary = z.infer<typeof canarySchema>;

export const resultSchema = z.object({
  format: z.literal(1),
  input_hash: z.string(),
  steps: z.int(),
  steps_done: z.int(),
  /** Why no step was done; null where one was. */
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
   * where no weights are written.
   */
  output: z.object({ checkpoint: z.string(), trainer_state: z.string() }).nullable(),
  /** What a server of the weights must answer; null for full weights. */
  canary: canarySchema.nullish(),
  /** What `gradient_norms` measured of each group of records. */
  groups: z.array(groupSchema).default([]),
});
export type JobResult = z.infer<typeof resultSchema>;

export const exitSchema = z.object({
  /** Of the job that ended; null if it could not read its own, absent in files of older jobs. */
  fence: z.int().min(1).nullish(),
  reason: z.string(),
  message: z.string().nullish(),
  file: z.string().nullish(),
});
export type JobExit = z.infer<typeof exitSchema>;
