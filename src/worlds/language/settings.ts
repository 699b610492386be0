import { z } from 'zod';
import { frozenServerFields } from '../../validation/frozen-server.ts';
import {
  bandField,
  bandProblems,
  formatField,
  repairsField,
  simulatorFormatField,
  tasksFileField,
  voteField,
} from '../json-tasks/settings.ts';
import { baseTasksField, heldOutPerCellField, rangeField, rangeProblems } from '../setting-fields.ts';

/** How a task is judged: by a program that code executes, or against a label that the simulator wrote. */
export const evaluationKinds = ['execution', 'call', 'exact', 'reference'] as const;

const { type, baseUrl, apiKeyEnv, model } = frozenServerFields;

const similarityField = z
  .strictObject({
    type,
    baseUrl,
    apiKeyEnv,
    model,
    solvedFrom: z
      .number()
      .gt(0)
      .max(1)
      .describe(
        'Cosine from which a free-form answer counts as solved. Each model of embeddings has a scale of its own.',
      ),
  })
  .describe(
    'Free-form answers are rewarded by the cosine of their embedding and their reference’s, by a frozen model ' +
      'behind OpenAI’s embeddings. Left out = by token F1.',
  );

export const languageSettings = z
  .strictObject({
    type: z.literal('language'),
    format: formatField,
    simulatorFormat: simulatorFormatField,
    kinds: z
      .array(z.enum(evaluationKinds))
      .min(1)
      .max(1_000)
      .default([...evaluationKinds])
      .describe('Evaluations that a task may have. Only `execution` has a label that no model wrote.'),
    band: bandField,
    maxCalls: z
      .int()
      .min(1)
      .max(64)
      .default(16)
      .describe('Maximum number of tool calls in the program of a task: headroom for difficulty.'),
    maxDepth: z.int().min(1).max(16).default(8).describe('Maximum depth of nested calls.'),
    similarAt: z
      .number()
      .gt(0)
      .max(1)
      .default(0.6)
      .describe(
        'Token F1 from which a vote on a free-form answer agrees, and, without similarity, an answer counts as solved.',
      ),
    similarity: similarityField.optional(),
    repairs: repairsField,
    vote: voteField,
    baseTasks: baseTasksField(48),
    baseCalls: rangeField([2, 5], 'Fewest and most calls in the built-in base tasks.'),
    heldOutCalls: rangeField([1, 6], 'Calls in the built-in held-out tasks.'),
    heldOutPerCell: heldOutPerCellField(8, 'number of calls'),
    tasksFile: tasksFileField
      .nullable()
      .default(null)
      .describe('Tasks of your own in place of the built-in ones.'),
  })
  .describe('Tasks in natural language, for any OpenAI-compatible model.');

export type LanguageSettings = z.infer<typeof languageSettings>;

export function* languageProblems({
  band,
  baseCalls,
  heldOutCalls,
  kinds,
  maxCalls,
  similarity,
}: LanguageSettings): Generator<string> {
  if (similarity !== undefined && !kinds.includes('reference'))
    yield (
      `world.similarity: got settings with kinds ${JSON.stringify(kinds)}; expected the kind "reference" among ` +
      'them, whose answers alone are compared so'
    );
  yield* bandProblems({ band });
  yield* rangeProblems(
    { baseCalls, heldOutCalls },
    { field: 'maxCalls', value: maxCalls },
    'the fewer calls first',
  );
}
