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

export const miniDeskSettings = z
  .strictObject({
    type: z.literal('minidesk'),
    records: z.int().min(2).max(6).default(4).describe('Maximum number of records on the desk.'),
    colours: z.int().min(2).max(4).default(3).describe('Colours that a record can have.'),
    places: z.int().min(2).max(4).default(3).describe('Places that a record can be at.'),
    conjuncts: z.int().min(1).max(3).default(2).describe('Maximum number of conditions of a goal.'),
    maxErrors: z
      .int()
      .min(0)
      .max(2)
      .default(1)
      .describe('Maximum number of tool errors that can be injected into a task.'),
    turns: z.int().min(3).max(8).default(6).describe('Actions that a rollout may take.'),
    baseTasks: baseTasksField(64),
    baseSteps: rangeField([4, 6], 'Fewest and most actions that the base tasks take.'),
    heldOutPerCell: heldOutPerCellField(16, 'number of actions'),
    warmUp: warmUpField({
      actionAccuracy: share(
        0.85,
        'Chance that an action is the right one in the agent’s corpus: success at n actions starts near its n-th power.',
      ),
      easyTail: easyTailField(0.15, 'any number of actions up to the seed’s'),
      wordings: share(0.3, 'Share of the simulator’s corpus that is about wording an observation.'),
    }),
  })
  .describe('A desk to put in order, over several turns; the simulator words what the agent reads.');

export type MiniDeskSettings = z.infer<typeof miniDeskSettings>;

export function* miniDeskProblems({ turns, baseSteps }: MiniDeskSettings): Generator<string> {
  yield* rangeProblems({ baseSteps }, { field: 'turns', value: turns }, 'the smaller number first');
  if (baseSteps[1] < 2)
    yield `world.baseSteps: got [${baseSteps.join(', ')}]; expected at least 2, an action and "done"`;
}

/**
 * Longest task: records and both forms of the conditions, four characters each with what separates them, and
 * the style.
 */
const taskLength = ({ records, conjuncts }: MiniDeskSettings): number => 4 * records + 8 * conjuncts + 2;

export const miniDeskTexts = (settings: MiniDeskSettings): TextLimits => ({
  agent: {
    what: 'action',
    answer: 4,
    prompt: 4 * settings.conjuncts,
    turns: settings.turns,
    observation: 3 * settings.records + 6,
  },
  environment: {
    what: 'task',
    answer: taskLength(settings) + 1,
    prompt: historyLength(6) + taskLength(settings) + 1,
  },
});
