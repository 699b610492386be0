import { z } from 'zod';
import { frozenServerFields } from '../../validation/frozen-server.ts';
import { nonNegativeNumber, pathField, positiveCount, sha256Field } from '../../validation/limited-fields.ts';

/** Settings of worlds whose tasks a model writes as JSON. */

export const formatField = z
  .enum(['plain', 'chatml'])
  .default('plain')
  .describe(
    'Frame of the prompts: `chatml` for chat models behind a completions endpoint, such as Qwen2.5; `plain` if the server applies the model’s template.',
  );

export const simulatorFormatField = z
  .enum(['plain', 'chatml'])
  .optional()
  .describe(
    'Frame of the simulator’s prompts, where its server takes another than the agent’s. Left out = format.',
  );

export const bandField = z
  .tuple([z.number().min(0).max(1), z.number().min(0).max(1)])
  .nullable()
  .default([0.4, 0.6])
  .describe(
    'Success rate that the prompt asks the simulator to aim at; null = the prompt names no target, and R_env alone ' +
      'tells (preset `paper`).',
  );

export const repairsField = z
  .int()
  .min(0)
  .max(4)
  .default(1)
  .describe('Times that a text which is no task is asked for again, with the reason in the prompt.');

/** A model behind a server, and how it is sampled. */
const helperField = (role: string) =>
  z.strictObject({
    ...frozenServerFields,
    temperature: nonNegativeNumber.optional().describe(`Sampling temperature. Left out = the ${role}’s.`),
    maxTokens: positiveCount
      .optional()
      .describe(`Maximum number of new tokens in an answer. Left out = as many as the ${role} has.`),
  });

const solverField = helperField('agent').describe(
  'A model that votes in the place of the initial agent, such as one behind an API.',
);

export const voteField = z
  .strictObject({
    votes: z
      .int()
      .min(1)
      .max(32)
      .default(5)
      .describe(
        'Answers of the solver, or else of the frozen initial agent, to a task whose label the simulator wrote, ' +
          'outside the rollout budget.',
      ),
    agreement: z
      .number()
      .gt(0)
      .max(1)
      .default(0.8)
      .describe('Share of them that must agree with the label; otherwise the task is invalid.'),
    solver: solverField.optional(),
  })
  .nullable()
  .prefault({})
  .describe('Independent check of the simulator’s own labels; null = they are believed.');

export const wordingField = z
  .strictObject({
    server: helperField('simulator')
      .optional()
      .describe('A model that words, such as one behind an API. Left out = the simulator.'),
  })
  .optional()
  .describe(
    'The simulator writes tools and calls alone: the calls are the label, so no vote is needed, and a model ' +
      'words the request. Left out = the simulator writes dialogue and label.',
  );

export type WordingSettings = z.infer<typeof wordingField>;
export type VoteSettings = z.infer<typeof voteField>;

export const tasksFileField = z.strictObject({
  path: pathField.describe('JSON Lines on the worker’s machine, a task a line, in a folder of GENENV_DATA.'),
  sha256: sha256Field,
  heldOut: z
    .number()
    .gt(0)
    .lt(1)
    .default(0.25)
    .describe('Share of its tasks that is held out, drawn by a fixed seed; the others are the base tasks.'),
});

export type TasksFile = z.infer<typeof tasksFileField>;

/** What all of these worlds are set by. */
export interface JsonTaskSettings {
  format: z.infer<typeof formatField>;
  simulatorFormat?: z.infer<typeof simulatorFormatField>;
  band: z.infer<typeof bandField>;
  repairs: number;
}

export function* bandProblems({ band }: Pick<JsonTaskSettings, 'band'>): Generator<string> {
  const [low, high] = band ?? [0, 1];
  if (low > high) yield `world.band: got [${low}, ${high}]; expected the lower end first`;
}
