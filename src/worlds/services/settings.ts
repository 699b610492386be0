import { z } from 'zod';
import {
  bandField,
  bandProblems,
  formatField,
  repairsField,
  simulatorFormatField,
} from '../json-tasks/settings.ts';
import { baseTasksField, heldOutPerCellField, rangeField, rangeProblems } from '../setting-fields.ts';

/** Calls that the programs of all turns may have together. */
export const MAX_CALLS = 16;

export const servicesSettings = z
  .strictObject({
    type: z.literal('services'),
    format: formatField,
    simulatorFormat: simulatorFormatField,
    band: bandField,
    repairs: repairsField,
    maxCalls: z
      .int()
      .min(1)
      .max(MAX_CALLS)
      .default(12)
      .describe('Maximum number of calls in a task’s program, over all turns: headroom for difficulty.'),
    stepsPerTurn: z
      .int()
      .min(1)
      .max(20)
      .default(6)
      .describe(
        'Answers with calls that the agent may give to a request before the rollout ends; BFCL allows 20.',
      ),
    baseTasks: baseTasksField(48),
    baseCalls: rangeField([2, 4], 'Fewest and most calls in the base tasks.'),
    heldOutCalls: rangeField([1, 6], 'Calls in the held-out tasks.'),
    heldOutPerCell: heldOutPerCellField(6, 'number of calls'),
  })
  .describe(
    'Requests of several turns on services with a state, judged by the state as in BFCL’s multi-turn cases.',
  );

export type ServicesSettings = z.infer<typeof servicesSettings>;

export function* servicesProblems({
  band,
  baseCalls,
  heldOutCalls,
  maxCalls,
}: ServicesSettings): Generator<string> {
  yield* bandProblems({ band });
  yield* rangeProblems(
    { baseCalls, heldOutCalls },
    { field: 'maxCalls', value: maxCalls },
    'the fewer calls first',
  );
}
