/** Nights that somebody else than their workflow closes. */
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { createNightlyActivities } from '../../src/activities/index.ts';
import { fileRefs, mapShards } from '../../src/epochs/shards.ts';
import type { CloseNightInput, NightPlan } from '../../src/types/nightly-inputs.ts';
import type { PolicyVersion } from '../../src/types/run-state.ts';
import { InvalidInput } from '../../src/validation/checked-input.ts';
import { begin, plainEpoch } from '../../test-support/plain-epochs.ts';
import { smallFile, someRun } from './some-run.ts';
import type { SomeRun } from './some-run.ts';

const file = { name: 'nights', epochsPerNight: 1, evaluation: { samples: 2 }, experiment: smallFile };

/** What the workflow `nightly` does up to the end of a night, which it has not closed. */
async function nightToClose(run: SomeRun): Promise<CloseNightInput> {
  const night = await createNightlyActivities(run.dependencies).openNight({ file });
  const { plan, prepared } = await begin(run.activities, night.id, night.experiment);
  const { epoch } = await plainEpoch(run.activities, plan, prepared);
  return verdictsOn(run, night, epoch);
}

/** The promotion trial of a night, by the settings in its plan. */
async function verdictsOn(
  { activities, dependencies }: SomeRun,
  night: NightPlan,
  epoch: number,
): Promise<CloseNightInput> {
  const nightly = createNightlyActivities(dependencies);
  const { before, after, shards, ...input } = await nightly.compareAgents({ night, epoch });
  const evaluate = async (agent: PolicyVersion) =>
    fileRefs(await mapShards(shards, (shard) => activities.evaluatePolicy({ ...input, ...shard, agent })));
  const verdicts = { before: await evaluate(before), after: await evaluate(after) };
  return { night, epoch, outcome: 'finished', verdicts };
}

it('a night is closed only with its own champion, candidate and verdicts', async () => {
  const run = await someRun();
  const { closeNight, failNight } = createNightlyActivities(run.dependencies);
  const honest = await nightToClose(run);
  const { night, verdicts } = honest;
  const changed = (changes: Partial<NightPlan>): CloseNightInput => ({
    ...honest,
    night: { ...night, ...changes },
  });
  const longer = { ...night.experiment, epochs: 4 };
  const elsewhere = { run: 'some-run', epoch: 0 };
  const forgeries: [string, CloseNightInput][] = [
    ['verdicts: expected those that were recorded', { ...honest, verdicts: null }],
    [
      'verdicts: expected those that were recorded',
      { ...honest, verdicts: { before: verdicts!.after, after: verdicts!.before } },
    ],
    ['epoch: expected 1, the last of nights-night-0001', { ...honest, epoch: 0 }],
    ['night 2 of nights: night: expected 1, the next one', changed({ night: 2 })],
    ['id: expected nights-night-0001', changed({ id: 'some-run' })],
    ['experiment: expected that of the run nights-night-0001', changed({ experiment: longer })],
    ['from: expected none', changed({ from: elsewhere })],
  ];
  for (const [problem, forged] of forgeries) {
    await expect(closeNight(forged)).rejects.toThrow(InvalidInput);
    await expect(closeNight(forged)).rejects.toThrow(problem);
  }
  await expect(failNight({ night: { ...night, from: elsewhere }, reason: 'none' })).rejects.toThrow(
    'from: expected none',
  );
  expect(await run.dependencies.nightlyFolder('nights').nights()).toEqual([]);

  const record = await closeNight(honest);
  expect(record).toMatchObject({
    night: 1,
    candidate: { run: 'nights-night-0001', epoch: 1 },
    test: { verdicts },
  });
  expect(await closeNight({ ...honest, verdicts: null })).toEqual(record);
  await failNight({ night, reason: 'too late' });
  expect(await run.dependencies.nightlyFolder('nights').nights()).toEqual([record]);
});

it('a night is closed by the test that it was opened with', async () => {
  const run = await someRun();
  const { openNight, closeNight } = createNightlyActivities(run.dependencies);
  const honest = await nightToClose(run);
  const { nightly } = honest.night;
  for (const [changes, problem] of [
    [{ significance: 5e-324 }, 'significance: was 0.05, is 5e-324'],
    [{ evaluation: { ...nightly.evaluation, samples: 1 } }, 'evaluation.samples: was 2, is 1'],
    [{ evaluation: { ...nightly.evaluation, temperature: 0 } }, 'evaluation.temperature: was 1, is 0'],
  ] as const) {
    const night = { ...honest.night, nightly: { ...nightly, ...changes } };
    const forged = await verdictsOn(run, night, honest.epoch);
    await expect(closeNight(forged)).rejects.toThrow(InvalidInput);
    await expect(closeNight(forged)).rejects.toThrow(
      `nightly: expected what the night was opened with (${problem})`,
    );
  }
  expect(await run.dependencies.nightlyFolder('nights').nights()).toEqual([]);

  expect(await openNight({ file })).toEqual(honest.night);
  const { night: next } = await openNight({ file: { ...file, significance: 0.5 } });
  expect(next).toBe(2);
  expect(await closeNight(honest)).toMatchObject({
    outcome: 'abandoned',
    reason: expect.stringContaining('(significance: was 0.05, is 0.5)') as string,
  });
});

it('a night that an earlier version opened is closed by the test that its workflow brings', async () => {
  const run = await someRun();
  const { openNight, closeNight } = createNightlyActivities(run.dependencies);
  const honest = await nightToClose(run);
  await rm(join(run.dependencies.keys.root, 'keys', '_nightly-nights'), { recursive: true });
  const record = await closeNight(honest);
  expect(record).toMatchObject({ test: { samples: 2, significance: 0.05 } });
  expect(await openNight({ file })).toMatchObject({ night: 2 });
});

it('each night may sample as many tokens as the file says, on top of those before it', async () => {
  const run = await someRun();
  const { openNight, closeNight } = createNightlyActivities(run.dependencies);
  const experiment = { ...smallFile, maxTokens: 50 };
  const first = await openNight({ file: { ...file, experiment } });
  expect(first.experiment.maxTokens).toBe(50);
  const { plan, prepared } = await begin(run.activities, first.id, first.experiment);
  const { epoch, state } = await plainEpoch(run.activities, plan, prepared);
  await closeNight(await verdictsOn(run, first, epoch));
  const second = await openNight({ file: { ...file, experiment } });
  expect(second).toMatchObject({ night: 2, experiment: { maxTokens: state.tokens + 50 } });
});
