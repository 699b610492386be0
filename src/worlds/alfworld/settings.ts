import { z } from 'zod';
import { historyLength } from '../history-digits.ts';
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
import type { TextLimits } from '../setting-fields.ts';
import { ACTION_LENGTH, maxObservationLength, promptLength } from './codes.ts';
import { goalKinds } from './household.ts';
import { maxSpecLength } from './task.ts';

export const alfworldSettings = z
  .strictObject({
    type: z.literal('alfworld'),
    form: z
      .enum(['words', 'codes'])
      .default('words')
      .describe(
        'What the agent reads and writes: ALFWorld’s own words, for pretrained models, or the same in short codes, for models from scratch.',
      ),
    format: formatField,
    receptacles: z.int().min(2).max(8).default(6).describe('Maximum number of receptacles in a room.'),
    objects: z.int().min(1).max(8).default(6).describe('Maximum number of objects in a room.'),
    turns: z.int().min(4).max(30).default(14).describe('Actions that a rollout may take.'),
    baseTasks: baseTasksField(64),
    baseSteps: rangeField([4, 7], 'Fewest and most actions that the base tasks take.'),
    heldOutPerCell: heldOutPerCellField(2, 'goal type and number of actions'),
    warmUp: warmUpField({
      actionAccuracy: share(
        0.9,
        'Chance that an action is the right one in the agent’s corpus: success at n actions starts near its n-th power.',
      ),
      easyTail: easyTailField(0.15, 'any number of actions up to the seed’s'),
    }),
  })
  .describe('Household goals in a generated room, in ALFWorld’s text form, over several turns.');

export type AlfworldSettings = z.infer<typeof alfworldSettings>;

export function* alfworldProblems({ turns, baseSteps }: AlfworldSettings): Generator<string> {
  yield* rangeProblems({ baseSteps }, { field: 'turns', value: turns }, 'the smaller number first');
}

/** Lengths of the short codes; those in words are a pretrained model's, whose tokens are no characters. */
export const alfworldTexts = (settings: AlfworldSettings): TextLimits | undefined =>
  settings.form === 'words'
    ? undefined
    : {
        agent: {
          what: 'action',
          answer: ACTION_LENGTH + 1,
          prompt: promptLength(settings),
          turns: settings.turns,
          observation: maxObservationLength(settings),
        },
        environment: {
          what: 'task',
          answer: maxSpecLength(settings) + 1,
          prompt: historyLength(goalKinds.length) + maxSpecLength(settings) + 1,
        },
      };
