import { z } from 'zod';
import { historyLength } from '../history-digits.ts';
import {
  baseTasksField,
  easyTailField,
  heldOutPerCellField,
  rangeField,
  rangeProblems,
  share,
  warmUpField,
} from '../setting-fields.ts';
import type { TextLimits } from '../setting-fields.ts';

export const chainOpsSettings = z
  .strictObject({
    type: z.literal('chainops'),
    operations: z
      .int()
      .min(1)
      .max(4)
      .default(2)
      .describe('Operations: the first so many of R reverse, T rotate left, U next symbol, X swap the ends.'),
    symbols: z.int().min(2).max(9).default(4).describe('Symbols that texts are made of.'),
    maxDepth: z.int().min(1).max(5).default(3).describe('Maximum number of operations in a chain.'),
    maxLength: z.int().min(2).max(12).default(4).describe('Longest text a chain starts from.'),
    baseTasks: baseTasksField(64),
    baseDepths: rangeField([2, 3], 'Fewest and most operations of the base tasks.'),
    baseLengths: rangeField([3, 4], 'Shortest and longest text of the base tasks.'),
    heldOutPerCell: heldOutPerCellField(16, 'depth and length'),
    warmUp: warmUpField({
      symbolAccuracy: share(
        0.9,
        'Chance that a symbol of a step is right in the agent’s corpus: success starts near its power of depth times length.',
      ),
      easyTail: easyTailField(0.15, 'any depth and length up to the seed’s'),
    }),
  })
  .describe('Reasoning with written intermediate steps.');

export type ChainOpsSettings = z.infer<typeof chainOpsSettings>;

export function* chainOpsProblems({
  maxDepth,
  maxLength,
  baseDepths,
  baseLengths,
}: ChainOpsSettings): Generator<string> {
  yield* rangeProblems({ baseDepths }, { field: 'maxDepth', value: maxDepth }, 'the smaller number first');
  yield* rangeProblems({ baseLengths }, { field: 'maxLength', value: maxLength });
}

export const chainOpsTexts = ({ operations, maxDepth, maxLength }: ChainOpsSettings): TextLimits => ({
  agent: { what: 'chain', answer: maxDepth * (maxLength + 1), prompt: maxDepth + maxLength + 2 },
  environment: {
    what: 'task',
    answer: maxDepth + maxLength + 2,
    prompt: historyLength(operations) + maxDepth + maxLength + 1,
  },
});
