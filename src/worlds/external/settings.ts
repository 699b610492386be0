import { z } from 'zod';
import { uncheckedName } from '../../validation/limited-fields.ts';

export const externalSettings = z
  .strictObject({
    type: z.literal('external'),
    name: z
      .string()
      .regex(/^[A-Za-z0-9._-]{1,80}$/, 'expected 1 to 80 letters, digits, dots, dashes or underscores')
      .describe('Name under which the worker’s own list, GENENV_WORLDS, has it.'),
    settings: z
      .record(uncheckedName, z.json())
      .default({})
      .describe('Settings that the world checks by itself.'),
  })
  .describe('A world from outside this repository.');

export type ExternalSettings = z.infer<typeof externalSettings>;
