import { z } from 'zod';
import { httpUrl } from './method.ts';

/** LoRA ranks that vLLM can be started for (`--max-lora-rank`). */
export const vllmRanks = [1, 8, 16, 32, 64, 128, 256, 320, 512] as const;

export const vllmServingSchema = z
  .strictObject({
    type: z.literal('vllm'),
    baseUrl: z
      .union([httpUrl, z.array(httpUrl).min(1)])
      .optional()
      .describe(
        'Address of a vLLM that serves the base model, or of several for the same policies. Left out = the ' +
          'embedded stack starts one (`npm run engines -- vllm`), with flags that follow from this file.',
      ),
    apiKeyEnv: z
      .string()
      .min(1)
      .nullable()
      .optional()
      .describe('Name of the environment variable with the key; never the key. Left out = none.'),
    maxModelLen: z
      .int()
      .positive()
      .optional()
      .describe('Most tokens of a prompt with its answer. Left out = as many as the model has positions.'),
    precision: z
      .enum(['float32', 'bfloat16'])
      .optional()
      .describe('Of weights and activations on the server. Left out = trainer.precision.'),
    structuredOutput: z
      .enum(['none', 'native'])
      .optional()
      .describe(
        'Whether the server holds the simulator to the world’s schema or grammar, in worlds that have one. Left out = native.',
      ),
  })
  .describe('vLLM, with the policies as LoRA adapters over one base model.');

export type VllmServing = z.infer<typeof vllmServingSchema>;

/** Addresses of the servers that others have started; empty if the embedded stack is to start one. */
export const outsideAddresses = ({ baseUrl }: Pick<VllmServing, 'baseUrl'>): string[] =>
  baseUrl === undefined ? [] : [baseUrl].flat();
