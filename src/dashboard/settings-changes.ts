import type { RunData } from '../report/run-data.ts';
import { fieldsOf } from './setting-fields.ts';
import type { SettingsChange } from './api.ts';

/** What retunes changed, in their order, and the schedule of α. */
export function settingsChanges({ experimentFile, retunes }: RunData): SettingsChange[] {
  const current = fieldsOf(experimentFile?.experiment);
  const changes: SettingsChange[] = [];
  for (const { fromEpoch, set } of retunes)
    for (const [field, value] of Object.entries(set)) {
      const after = JSON.stringify(value);
      changes.push({ fromEpoch, field, before: current.get(field) ?? '–', after });
      current.set(field, after);
    }
  for (const [field, value] of current)
    if (field.startsWith('difficulty.alphaSchedule.'))
      changes.push({ fromEpoch: 0, field, before: 'by schedule', after: value });
  return changes.sort((a, b) => a.fromEpoch - b.fromEpoch);
}
