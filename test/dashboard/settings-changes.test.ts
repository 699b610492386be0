import { expect, test } from 'vitest';
import { parseExperiment } from '../../src/config/parse-experiment.ts';
import { setFields } from '../../src/config/retune.ts';
import { settingsChanges } from '../../src/dashboard/settings-changes.ts';
import type { Retune } from '../../src/runs/run-folder.ts';
import { exampleExperiment } from '../../test-support/experiments.ts';

const retune = (fromEpoch: number, set: Record<string, unknown>): Retune => ({
  fromEpoch,
  set,
  time: '2026-11-21T09:30:00Z',
});

test('settings change by retunes and by the schedule of α, in the order of their epochs', () => {
  const experiment = exampleExperiment({
    epochs: 20,
    'difficulty.alphaSchedule': [
      { fromEpoch: 3, alpha: 0.6 },
      { fromEpoch: 9, alpha: 0.4 },
      // The retune of epoch 12 holds against it.
      { fromEpoch: 15, alpha: 0.3 },
    ],
  });
  const retunes = [retune(5, { epochs: 30 }), retune(12, { 'difficulty.alpha': 0.7 })];
  const inEffect = parseExperiment(
    retunes.reduce<object>((settings, { set }) => setFields(settings, set), experiment),
  );
  const changes = settingsChanges({
    experiment: inEffect,
    experimentFile: { experiment, sha256: '' },
    retunes,
  });
  expect(changes).toEqual([
    { fromEpoch: 3, field: 'difficulty.alpha', before: '0.5', after: '0.6' },
    { fromEpoch: 5, field: 'epochs', before: '20', after: '30' },
    { fromEpoch: 9, field: 'difficulty.alpha', before: '0.6', after: '0.4' },
    { fromEpoch: 12, field: 'difficulty.alpha', before: '0.4', after: '0.7' },
  ]);
  expect(settingsChanges({ experiment: null, experimentFile: null, retunes: [] })).toEqual([]);
});
