import { z } from 'zod';
import { httpUrl } from './method.ts';

export const sglangServingSchema = z
  .strictObject({
    type: z.literal('sglang'),
    baseUrl: z
      .union([httpUrl, z.array(httpUrl).min(1)])
      .describe('Address of an SGLang that serves the base model, or of several for the same policies.'),
    apiKeyEnv: z
      .string()
      .min(1)
      .nullable()
      .optional()
      .describe('Name of the environment variable with the key; never the key. Left out = none.'),
    structuredOutput: z
      .enum(['none', 'native'])
      .optional()
      .describe(
        'Whether the server holds the simulator to the world’s schema or grammar, in worlds that have one. Left out = native.',
      ),
  })
  .describe('SGLang, with the policies as LoRA adapters over one base model.');

export type SglangServing = z.infer<typeof sglangServingSchema>;
