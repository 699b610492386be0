import { writeFile } from 'node:fs/promises';
import { describe, expect, it, test } from 'vitest';
import { difficultyReward } from '../../src/coevolution/difficulty-reward.ts';
import { alphaAt } from '../../src/coevolution/target-schedule.ts';
import { parseExperiment } from '../../src/config/parse-experiment.ts';
import { setFields, settingsInEffect } from '../../src/config/retune.ts';
import { RunFolder } from '../../src/runs/run-folder.ts';
import { experimentInEffect } from '../../src/runs/settings-in-effect.ts';
import type { LedgerEntry } from '../../src/runs/ledger-entry.ts';
import type { ScoreRecord } from '../../src/types/records.ts';
import { plainEpoch } from '../../test-support/plain-epochs.ts';
import { someRun } from '../activities/some-run.ts';
import { exampleFile, withFields } from '../../test-support/experiments.ts';
import { temporaryFolder } from '../store/temporary-folder.ts';

const steps = [
  { fromEpoch: 2, alpha: 0.6 },
  { fromEpoch: 5, alpha: 0.3 },
];

describe('α by epoch', () => {
  it('is that of the last step whose epoch has come, and `alpha` before the first', () => {
    const schedule = { alpha: 0.5, alphaSchedule: steps };
    expect([0, 1, 2, 3, 4, 5, 6, 99].map((epoch) => alphaAt(schedule, epoch))).toEqual([
      0.5, 0.5, 0.6, 0.6, 0.6, 0.3, 0.3, 0.3,
    ]);
    expect(alphaAt({ alpha: 0.5 }, 7)).toBe(0.5);
  });

  it('takes its steps in the order of their epochs', () => {
    const wrong = withFields(exampleFile, { 'difficulty.alphaSchedule': [steps[1], steps[0]] });
    expect(() => parseExperiment(wrong)).toThrow(
      'difficulty.alphaSchedule[1].fromEpoch: got 2; expected more than 5, of the step before',
    );
  });
});

describe('the settings in effect', () => {
  const file = parseExperiment(withFields(exampleFile, { 'difficulty.alphaSchedule': steps }));

  it('have the α of the schedule, which a retune ends', async () => {
    const folder = new RunFolder(await temporaryFolder(), 'scheduled');
    await folder.writeExperiment(file);
    const alphaIn = async (epoch: number) =>
      settingsInEffect(await experimentInEffect(folder, file, epoch))['difficulty.alpha'];
    expect([await alphaIn(1), await alphaIn(3), await alphaIn(8)]).toEqual([0.5, 0.6, 0.3]);
    const retune = { fromEpoch: 4, set: { 'difficulty.alpha': 0.45 }, time: '2026-11-26T00:00:00Z' };
    await writeFile(folder.retunesFile, JSON.stringify([retune]));
    expect([await alphaIn(3), await alphaIn(4), await alphaIn(8)]).toEqual([0.6, 0.45, 0.45]);
  });

  it('of a fork that sets α have it to the end', () => {
    const forked = parseExperiment(setFields(file, { 'difficulty.alpha': 0.4 }));
    expect(forked.difficulty).not.toHaveProperty('alphaSchedule');
    expect(alphaAt(forked.difficulty, 9)).toBe(0.4);
  });
});

test('the simulator is rewarded by the α of the epoch, which the ledger states', async () => {
  const run = await someRun({ 'difficulty.alphaSchedule': [{ fromEpoch: 2, alpha: 0.9 }] });
  let committed = run.prepared;
  for (let epoch = 1; epoch <= 2; epoch++) {
    // eslint-disable-next-line id-denylist -- a field on the wire
    const opened = await run.activities.openEpoch({ id: run.plan.run.id, known: epoch - 1, thorough: false });
    committed = await plainEpoch(run.activities, { ...run.plan, ...opened }, committed);
  }
  const ledger = run.dependencies
    .runFolder(run.plan.run.id)
    .ledger<LedgerEntry>(run.plan.run.experiment.sha256);
  const lines = (await ledger.read()).slice(1);
  expect(lines.map(({ inputs }) => inputs.settings['difficulty.alpha'])).toEqual([0.5, 0.9]);
  for (const [index, alpha] of [0.5, 0.9].entries()) {
    const scores = await run.records<ScoreRecord>(lines[index]!.outputs.scores);
    const measured = scores.filter(({ env_reward }) => env_reward !== null);
    expect(measured.length).toBeGreaterThan(4);
    for (const { target_rate, env_reward } of measured)
      expect(env_reward).toBeCloseTo(difficultyReward(target_rate!, { alpha, beta: 8 }), 12);
  }
});
