import { z } from 'zod';
import {
  bandField,
  bandProblems,
  formatField,
  repairsField,
  simulatorFormatField,
  tasksFileField,
  voteField,
  wordingField,
} from '../json-tasks/settings.ts';
import { callCategories } from './task-schema.ts';

export const callsSettings = z
  .strictObject({
    type: z.literal('calls'),
    style: z
      .enum(['bfcl', 'api-bank'])
      .default('bfcl')
      .describe(
        'How calls are asked for, written and compared: `bfcl` as Python calls by the rules of its AST checker, `api-bank` as lines of JSON that must be equal.',
      ),
    categories: z
      .array(z.enum(callCategories))
      .min(1)
      .max(1_000)
      .default([...callCategories])
      .describe(
        'Tasks that may be written: one tool or several to choose from (`multiple`), one call or several at once (`parallel`).',
      ),
    format: formatField,
    simulatorFormat: simulatorFormatField,
    band: bandField,
    repairs: repairsField,
    vote: voteField,
    wording: wordingField,
    tasksFile: tasksFileField
      .extend({
        form: z
          .enum(['tasks', 'traces'])
          .optional()
          .describe(
            'What a line is: a task, or an expert’s trace of several turns, which is cut into a task for each of ' +
              'its actions. Left out = tasks.',
          ),
      })
      .describe('The tasks that the simulator varies, and those held out.'),
  })
  .describe('Function calling as BFCL and API-Bank have it, from tasks of your own.');

export type CallsSettings = z.infer<typeof callsSettings>;

export function* callsProblems(settings: CallsSettings): Generator<string> {
  yield* bandProblems(settings);
  if (settings.wording !== undefined && settings.vote?.solver !== undefined)
    yield 'world.vote.solver: got settings; with world.wording code computes the labels, and nobody votes';
}
