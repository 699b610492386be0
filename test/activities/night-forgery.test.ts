/** Nights that somebody else than their workflow closes. */
import { expect, it } from 'vitest';
import { createNightlyActivities } from '../../src/activities/index.ts';
import { fileRefs, mapShards } from '../../src/epochs/epoch-pipeline.ts';
import type { CloseNightInput, NightPlan } from '../../src/types/nightly-inputs.ts';
import type { PolicyVersion } from '../../src/types/run-state.ts';
import { InvalidInput } from '../../src/validation/checked-input.ts';
import { begin, plainEpoch } from '../../test-support/plain-epochs.ts';
import { smallFile, someRun } from './some-run.ts';
import type { SomeRun } from './some-run.ts';

const file = { name: 'nights', epochsPerNight: 1, evaluation: { samples: 2 }, experiment: smallFile };

/** What the workflow `nightly` does up to the end of a night, which it has not closed. */
async function nightToClose({ activities, dependencies }: SomeRun): Promise<CloseNightInput> {
  const nightly = createNightlyActivities(dependencies);
  const night = await nightly.openNight({ file });
  const { plan, prepared } = await begin(activities, night.id, night.experiment);
  const { epoch } = await plainEpoch(activities, plan, prepared);
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
