import type { Experiment } from '../config/experiment.ts';
import type { RunData } from '../report/run-data.ts';
import { fieldsOf } from './setting-fields.ts';
import type { SettingsChange } from './api.ts';

/** What retunes and the schedule of α changed, in the order of their epochs. */
export function settingsChanges({
  experiment,
  experimentFile,
  retunes,
}: Pick<RunData, 'experiment' | 'experimentFile' | 'retunes'>): SettingsChange[] {
  const retunedAt = retunes.find(({ set }) => 'difficulty.alpha' in set)?.fromEpoch ?? Infinity;
  // A retune of α holds against the steps of the schedule that come after it.
  // Among the settings in effect it is no longer.
  const file = experiment === null ? null : (experimentFile?.experiment as Experiment);
  const scheduled = (file?.difficulty.alphaSchedule ?? [])
    .filter(({ fromEpoch }) => fromEpoch < retunedAt)
    .map(({ fromEpoch, alpha }) => ({ fromEpoch, set: { 'difficulty.alpha': alpha } }));
  const current = fieldsOf(experimentFile?.experiment);
  return [...scheduled, ...retunes]
    .sort((a, b) => a.fromEpoch - b.fromEpoch)
    .flatMap(({ fromEpoch, set }) =>
      Object.entries(set).map(([field, value]) => {
        const change = { fromEpoch, field, before: current.get(field) ?? '–', after: JSON.stringify(value) };
        current.set(field, change.after);
        return change;
      }),
    );
}
