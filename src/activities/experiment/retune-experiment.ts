import { retuneRun } from '../../runs/retune.ts';
import type { RetuneInput } from '../../types/activity-inputs.ts';
import type { Retuned } from '../../types/activity-types.ts';
import type { Dependencies } from '../dependencies.ts';

/**
 * Changes settings of a run from an epoch on, and returns the settings then in effect. The same request again
 * changes nothing.
 * @throws InvalidConfig naming the field, with nothing changed
 */
export function createRetuneExperiment({ runFolder }: Pick<Dependencies, 'runFolder'>) {
  return ({ id, set, fromEpoch }: RetuneInput): Promise<Retuned> => retuneRun(runFolder(id), set, fromEpoch);
}
