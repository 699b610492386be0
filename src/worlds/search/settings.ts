import { z } from 'zod';
import { historyLength } from '../history-digits.ts';
import { formatField } from '../json-tasks/settings.ts';
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
import { NAME_LENGTH } from './corpus.ts';
import { questionKinds } from './form.ts';
import { relations } from './relations.ts';
import { maxSpecLength } from './task.ts';

export const searchSettings = z
  .strictObject({
    type: z.literal('search'),
    seed: seedField('Seed of the invented corpus.'),
    form: z
      .enum(['words', 'codes'])
      .default('words')
      .describe(
        'What the agent reads and writes: sentences, for pretrained models, or the same in few characters, for models from scratch.',
      ),
    format: formatField,
    entities: z
      .int()
      .min(20)
      .max(100)
      .default(40)
      .describe('Novels, people, cities and firms in the corpus, of each.'),
    maxHops: z.int().min(1).max(4).default(3).describe('Maximum number of relations in a question.'),
    turns: z
      .int()
      .min(2)
      .max(8)
      .default(5)
      .describe('Actions that a rollout may take: searches and the answer.'),
    results: z.int().min(1).max(5).default(2).describe('Maximum number of passages that a search returns.'),
    baseTasks: baseTasksField(64),
    baseHops: rangeField([2, 3], 'Fewest and most relations in a base task.'),
    heldOutPerCell: heldOutPerCellField(8, 'type of the first entity and number of relations'),
    warmUp: warmUpField({
      actionAccuracy: share(
        0.9,
        'Chance that an action is the right one in the agent’s corpus: success at n relations starts near its (n + 1)-th power.',
      ),
      easyTail: easyTailField(0.15, 'any number of relations up to the seed’s'),
    }),
  })
  .describe('Questions of several hops over an invented corpus with a full-text index, over several turns.');

export type SearchSettings = z.infer<typeof searchSettings>;

export function* searchProblems({ turns, maxHops, baseHops }: SearchSettings): Generator<string> {
  yield* rangeProblems({ baseHops }, { field: 'maxHops', value: maxHops }, 'the fewer relations first');
  if (turns <= maxHops)
    yield `world.turns: got ${turns}; expected at least ${maxHops + 1}, a search for each relation (maxHops) and the answer`;
}

const WORD_LENGTH = Math.max(...relations.map(({ word }) => word.length));

/** Lengths of the short form; those in words are a pretrained model's, whose tokens are no characters. */
export const searchTexts = ({ form, maxHops, turns, results }: SearchSettings): TextLimits | undefined =>
  form === 'words'
    ? undefined
    : {
        agent: {
          what: 'action',
          answer: '? '.length + NAME_LENGTH + WORD_LENGTH + 1,
          prompt: NAME_LENGTH + maxHops * (WORD_LENGTH + 1) + 1,
          turns,
          observation: results * (2 * NAME_LENGTH + WORD_LENGTH + '  ;'.length),
        },
        environment: {
          what: 'task',
          answer: maxSpecLength({ maxHops }) + 1,
          prompt: historyLength(questionKinds.length) + maxSpecLength({ maxHops }) + 1,
        },
      };
