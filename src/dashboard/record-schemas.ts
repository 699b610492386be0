/** The records of an epoch as far as a page shows them: a file of a shared disk may hold anything. */
import { z } from 'zod';

const text = z.string();
const rate = z.number().nullable();

const sampledSchema = z.looseObject({
  policy_version: text,
  seed: z.number(),
  token_ids: z.array(z.number()),
  logprobs: z.array(z.number()),
  text,
  finish_reason: text,
  mask: z.array(z.number()).optional(),
});

export const taskRecordSchema = z.looseObject({
  id: text,
  source: z.enum(['new', 'history', 'base']),
  context: text,
  history_success: rate,
  simulator: z.enum(['current', 'initial', 'none']),
  valid: z.boolean(),
  invalid_reason: text,
  repeats: z.number(),
  spec: text.nullable(),
  prompt: text,
  kind: text,
  difficulty: z.number(),
  sampled: sampledSchema.nullable(),
});

const turnSchema = z.looseObject({
  seed: z.number(),
  action: text,
  wording: text.nullable(),
  observation: text.nullable(),
  consistent: z.boolean(),
});

export const traceRecordSchema = z.looseObject({
  id: text,
  task_id: text,
  role: z.enum(['agent', 'frozen']),
  sampled: sampledSchema,
  turns: z.array(turnSchema).optional(),
});

export const rewardRecordSchema = z.looseObject({
  id: text,
  task_id: text,
  role: z.enum(['agent', 'frozen']),
  reward: z.number(),
  second_reward: z.number(),
  well_formed: z.boolean(),
  advantage: z.number(),
  answer: text,
  failure: text.optional(),
});

export const scoreRecordSchema = z.looseObject({
  task_id: text,
  attempts: z.number(),
  successes: z.number(),
  success_rate: rate,
  target_rate: rate,
  frozen_rate: rate,
  random_rate: rate,
  env_reward: rate,
  guard: z.number(),
});

export const filterRecordSchema = z.looseObject({
  task_id: text,
  kept_for_agent: z.boolean(),
  kept_for_environment: z.boolean(),
  reason: text,
});
