import { z } from 'zod';
import { formatField } from '../json-tasks/settings.ts';
import {
  baseTasksField,
  easyTailField,
  heldOutPerCellField,
  rangeField,
  rangeProblems,
  share,
  warmUpField,
} from '../setting-fields.ts';
import { allTools } from './tools.ts';
import { nonNegativeCount } from '../../validation/limited-fields.ts';

export const programsSettings = z
  .strictObject({
    type: z.literal('programs'),
    format: formatField,
    maxCalls: z
      .int()
      .min(1)
      .max(12)
      .default(6)
      .describe('Maximum number of calls in a task: headroom for difficulty.'),
    maxDepth: z.int().min(1).max(6).default(4).describe('Maximum depth of nested calls.'),
    wrongTools: z
      .tuple([nonNegativeCount, z.int().min(0).max(16)])
      .default([1, 3])
      .describe('Fewest and most tools that a prompt lists and the request does not need.'),
    baseTasks: baseTasksField(64),
    baseCalls: rangeField([2, 3], 'Fewest and most calls in a base task: the agent’s success at the start.'),
    heldOutCalls: rangeField([1, 4], 'Calls of the held-out tasks.'),
    heldOutPerCell: heldOutPerCellField(4, 'family and number of calls'),
    unseenPerFamily: nonNegativeCount
      .default(4)
      .describe(
        'Further held-out tasks for each family with a tool that training never has, and as many with values that it never has.',
      ),
    warmUp: warmUpField({
      calls: rangeField([1, 2], 'Fewest and most calls in the agent’s corpus.'),
      wrongAnswers: share(
        0,
        'Share of the agent’s corpus with a wrong value or tool in its answer, for a weaker start.',
      ),
      easyTail: easyTailField(0.15, 'any number of calls up to the seed’s'),
    }),
  })
  .describe('Programs of tools, asked for in plain English, for small language models.');

export type ProgramsSettings = z.infer<typeof programsSettings>;

export function* programsProblems({
  baseCalls,
  heldOutCalls,
  maxCalls,
  warmUp,
  wrongTools: [from, to],
}: ProgramsSettings): Generator<string> {
  yield* rangeProblems(
    { baseCalls, heldOutCalls, 'warmUp.calls': warmUp.calls },
    { field: 'maxCalls', value: maxCalls },
    'the fewer calls first',
  );
  if (from > to)
    yield `world.wrongTools: got [${from}, ${to}]; expected the fewer tools first, of ${allTools.length}`;
}
