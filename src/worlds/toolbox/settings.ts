import { z } from 'zod';
import { historyLength } from '../history-digits.ts';
import {
  baseTasksField,
  easyTailField,
  heldOutPerCellField,
  rangeField,
  rangeProblems,
  seedField,
  share,
  warmUpField,
} from '../setting-fields.ts';
import type { TextLimits } from '../setting-fields.ts';

/** Optional fields stay absent if not given, so files without them keep their hash. */
export const toolboxSettings = z
  .strictObject({
    type: z.literal('toolbox'),
    seed: seedField('Which hidden maps the tools have.'),
    tools: z.int().min(1).max(12).default(4).describe('Tools, each with its own code.'),
    coinFlipTools: z
      .int()
      .min(0)
      .max(11)
      .optional()
      .describe(
        'How many of the tools, from the last, have a verdict that is the toss of a coin: traps for the guards. Left out = 0.',
      ),
    symbols: z.int().min(2).max(9).default(9).describe('Symbols that arguments are made of.'),
    maxLength: z
      .int()
      .min(1)
      .max(35)
      .default(24)
      .describe('Longest argument a task may have: headroom for difficulty.'),
    maxDepth: z.int().min(1).max(3).optional().describe('Maximum depth of nested calls. Left out = 1.'),
    maxArguments: z
      .int()
      .min(1)
      .max(4)
      .optional()
      .describe('Maximum number of arguments of a call; maxLength bounds them together. Left out = 1.'),
    baseTasks: baseTasksField(64),
    baseLengths: rangeField([13, 16], 'Shortest and longest argument of the base tasks.'),
    heldOutLengths: rangeField([1, 16], 'Lengths of the held-out grid.'),
    heldOutPerCell: heldOutPerCellField(4, 'tool, length and depth of calls'),
    warmUp: warmUpField({
      symbolAccuracy: share(
        0.68,
        'Chance that a symbol’s label is right in the agent’s corpus: success at length L starts near its L-th power.',
      ),
      easyTail: easyTailField(0.15),
    }),
  })
  .describe('Tool calling with hidden codes.');

export type ToolboxSettings = z.infer<typeof toolboxSettings>;

export function* toolboxProblems({
  tools,
  coinFlipTools = 0,
  maxLength,
  baseLengths,
  heldOutLengths,
}: ToolboxSettings): Generator<string> {
  yield* rangeProblems({ baseLengths, heldOutLengths }, { field: 'maxLength', value: maxLength });
  if (coinFlipTools >= tools)
    yield `world.coinFlipTools: got ${coinFlipTools}; expected fewer than tools (${tools}), since an agent needs something to learn`;
}

export const toolboxTexts = ({ maxLength, tools, maxDepth = 1 }: ToolboxSettings): TextLimits => ({
  agent: { what: 'call', answer: maxLength + 3 * maxDepth + 1, prompt: maxLength + maxDepth + 2 },
  environment: {
    what: 'task',
    answer: maxLength + maxDepth + 2,
    prompt: historyLength(tools) + maxDepth + maxLength + 1,
  },
});
