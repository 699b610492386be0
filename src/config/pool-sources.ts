/** Where the data set of an arm comes from that draws from one. */
import { z } from 'zod';
import {
  nameField,
  nonNegativeNumber,
  pathField,
  positiveCount,
  sha256Field,
} from '../validation/limited-fields.ts';
import { apiKeyEnv, httpUrl } from '../validation/server-address.ts';

export const poolSourceSchema = z
  .discriminatedUnion('type', [
    z
      .strictObject({
        type: z.literal('model'),
        baseUrl: httpUrl.describe('OpenAI-compatible server that is asked for chat completions.'),
        apiKeyEnv,
        model: nameField.describe('Name of the model there.'),
        temperature: nonNegativeNumber.default(1).describe('Sampling temperature.'),
        maxTokens: positiveCount.default(1024).describe('Maximum number of new tokens in a completion.'),
      })
      .describe('Written by a model, from examples of the base tasks.'),
    z
      .strictObject({
        type: z.literal('file'),
        path: pathField.describe(
          'JSON Lines on the worker’s machine, a task a line: {"spec": "…"}; in a folder of GENENV_DATA.',
        ),
        sha256: sha256Field,
      })
      .describe('Given as a file.'),
    z
      .strictObject({ type: z.literal('code') })
      .describe('Drawn by the world’s code, uniformly over the cells of its held-out grid; no model writes.'),
  ])
  .describe('Where the data set comes from.');

export type PoolSource = z.infer<typeof poolSourceSchema>;
