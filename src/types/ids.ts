import { z } from 'zod';
import { runIdPattern, runIdRule } from '../config/run-id.ts';
import { epochId } from '../formats/epoch-id.ts';

/** Ids inside records: `epoch-0007/task-05`. */
export const taskId = (epoch: number, index: number): string =>
  `${epochId(epoch)}/task-${String(index).padStart(2, '0')}`;
/** Where a task stands in its epoch's file, from its id. */
export const taskIndex = (id: string): number => Number(id.slice(id.lastIndexOf('-') + 1));

/** What seeds of a later round of an epoch's sampling have, so that it draws other numbers than the first. */
export const roundSeeds = (round: { number: number } | undefined): (string | number)[] =>
  round === undefined ? [] : ['round', round.number];

/** The id of a run, a comparison, an evaluation or a nightly curriculum: nothing else names a folder. */
export const runIdSchema = z.string().regex(runIdPattern, `expected ${runIdRule}`);
