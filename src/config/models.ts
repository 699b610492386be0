/** Where the weights of a policy come from. */
import { z } from 'zod';
import {
  nonNegativeCount,
  pathField,
  positiveCount,
  positiveNumber,
  uncheckedName,
} from '../validation/limited-fields.ts';

/** Positions that a model from scratch can tell apart: the most tokens of a prompt with its answer. */
export const positionsFromScratch = 256;

export const architectureSchema = z
  .strictObject({
    hiddenSize: z
      .int()
      .positive()
      .max(65_536)
      .describe('Width of the residual stream; heads must divide it into parts of an even size.'),
    layers: z.int().positive().max(1_000).describe('Transformer blocks.'),
    heads: z.int().positive().max(1_024).describe('Attention heads.'),
    intermediateSize: z.int().positive().max(262_144).describe('Width of the feed-forward layers.'),
    initializerRange: positiveNumber
      .default(0.1)
      .describe(
        'Standard deviation of the initial weights. At the usual 0.02 a model this small does not start to learn.',
      ),
    tieEmbeddings: z.boolean().default(false).describe('Use the input embeddings as output weights too.'),
  })
  .describe('A Llama-style model, made from scratch.');

export const warmUpSchema = z
  .strictObject({
    rows: z.int().positive().max(10_000_000).describe('Records of the corpus that the world writes.'),
    batch: z.int().positive().max(100_000).describe('Records a step.'),
    learningRate: positiveNumber.describe('Peak learning rate.'),
    schedule: z
      .enum(['constant', 'linear', 'cosine'])
      .default('cosine')
      .describe('Course of the learning rate after its warm-up.'),
    warmupSteps: nonNegativeCount.default(20).describe('Steps over which the learning rate rises from 0.'),
  })
  .describe('One-time supervised training; its result is cached by content.');

export const adapterSchema = z
  .strictObject({
    r: z.int().positive().max(4_096).default(32).describe('Rank of the update.'),
    alpha: positiveCount.default(64).describe('Scale of the update; it is multiplied by alpha / r.'),
    dropout: z
      .number()
      .min(0)
      .max(1)
      .default(0)
      .describe(
        'Share of the adapter’s inputs dropped in training; above 0, sampler and trainer no longer agree.',
      ),
    targetModules: z
      .array(uncheckedName)
      .min(1)
      .max(1_000)
      .default(['q_proj', 'k_proj', 'v_proj', 'o_proj', 'gate_proj', 'up_proj', 'down_proj'])
      .describe('Layers that get an adapter.'),
  })
  .describe('LoRA adapter.');

export const modelSchema = z
  .discriminatedUnion('type', [
    z
      .strictObject({ type: z.literal('scratch'), architecture: architectureSchema, warmUp: warmUpSchema })
      .describe('A small model made here and warmed up on the world’s corpus.'),
    z
      .strictObject({
        type: z.literal('pretrained'),
        path: pathField.describe(
          'Hugging Face folder on the machines that train and serve, under GENENV_MODELS; `engine:smollm2` = the model that ' +
            '`npm run engines -- smollm2` installs.',
        ),
        adapter: adapterSchema
          .nullable()
          .default(null)
          .describe('LoRA adapter to train instead of the full weights; null = full weights.'),
        warmUp: warmUpSchema
          .optional()
          .describe(
            'Cold start: supervised training on the world’s corpus, once. Its result is the initial policy, ' +
              'and what KL terms refer to. Left out = the model as it is.',
          ),
      })
      .describe('A Hugging Face model.'),
  ])
  .describe('Where the weights come from.');

export type ModelSettings = z.infer<typeof modelSchema>;
