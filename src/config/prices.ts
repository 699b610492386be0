import { z } from 'zod';
import type { JsonSchema } from '../validation/json-schema.ts';
import { fileJsonSchema, parseFile } from '../validation/parse-file.ts';
import { schemaField } from '../validation/limited-fields.ts';

const price = z.number().min(0).max(1e6).optional();
const speed = z.number().positive().max(1e9);

const serverPrice = z
  .strictObject({
    millionTokensSampled: price.describe('A million tokens that it writes. Left out = as the others.'),
    millionTokensRead: price.describe('A million tokens that it reads. Left out = as the others.'),
  })
  .optional();

/** The prices file: what a run's Temporal actions, tokens and GPU hours cost, and since when. */
export const pricesSchema = z
  .strictObject({
    $schema: schemaField,
    date: z.iso.date().describe('Day on which these prices were read, such as `2026-11-22`.'),
    source: z
      .string()
      .min(1)
      .max(500)
      .describe('Where they were read: addresses of price lists, or a contract. Shown beside each sum.'),
    currency: z
      .string()
      .regex(/^[A-Z]{3}$/, 'expected three capital letters')
      .describe('ISO 4217 code.'),
    millionActions: price.describe('A million actions of Temporal Cloud. Left out = a server of your own.'),
    millionTokensSampled: price.describe('A million tokens that a model server writes.'),
    millionTokensRead: price.describe('A million tokens that a model server reads, the prompts.'),
    simulator: serverPrice.describe('Of the simulator’s own server (`environment.serving`).'),
    wording: serverPrice.describe('Of the server that words tasks (`world.wording.server`).'),
    solver: serverPrice.describe('Of the server that votes on labels (`world.vote.solver`).'),
    similarity: serverPrice.describe('Of the server that embeds answers (`world.similarity`).'),
    gpuHour: price.describe('An hour of one GPU.'),
    gpus: z
      .strictObject({
        serving: z.int().min(0).max(10_000).default(1).describe('GPUs of the model servers.'),
        training: z.int().min(0).max(10_000).default(1).describe('GPUs of a training job.'),
      })
      .prefault({})
      .describe('How many GPUs are paid for while they work.'),
    speed: z
      .strictObject({
        tokensSampledPerSecond: speed.describe('Of all model servers together.'),
        tokensTrainedPerSecond: speed.describe('Of a training job.'),
      })
      .optional()
      .describe(
        'What an earlier run reached, for `--dry-run`: without it GPU hours are not known before a run.',
      ),
  })
  .describe('Prices of what a run uses.');

export type Prices = z.infer<typeof pricesSchema>;

/** JSON Schema of the file as people write it. */
export const pricesJsonSchema = (): JsonSchema => fileJsonSchema(pricesSchema);

/** @throws InvalidConfig naming every wrong field, what it holds and what is allowed */
export const parsePrices = (raw: unknown): Prices =>
  parseFile('prices', pricesSchema, raw, 'experiments/prices.json');
