import { z } from 'zod';
import { runIdPattern, runIdRule } from '../config/run-id.ts';
import { epochId } from '../formats/epoch-id.ts';

/** Ids inside records: `epoch-0007/task-05`. */
export const taskId = (epoch: number, index: number): string =>
  `${epochId(epoch)}/task-${String(index).padStart(2, '0')}`;
/** Where a task stands in its epoch's file, from its id. */
export const taskIndex = (id: string): number => Number(id.slice(id.lastIndexOf('-') + 1));

/** The id of a run, a comparison, an evaluation or a nightly curriculum: nothing else names a folder. */
export const runIdSchema = z.string().regex(runIdPattern, `expected ${runIdRule}`);
