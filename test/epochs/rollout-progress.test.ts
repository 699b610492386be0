import { expect, it } from 'vitest';
import { runEpochPipeline } from '../../src/epochs/epoch-pipeline.ts';
import { RolloutProgress } from '../../src/epochs/rollout-progress.ts';
import type { RolloutCounts } from '../../src/epochs/rollout-progress.ts';
import { someRun } from '../activities/some-run.ts';

it('plans the rollouts of the rounds that have begun', () => {
  const progress = new RolloutProgress({
    rolloutsPerEpoch: 64,
    dynamicSampling: { informativeGroups: 4, maxRounds: 3 },
  });
  expect(progress.counts()).toEqual({
    rolloutsDone: 0,
    rolloutsPlanned: 64,
    round: { number: 1, max: 3 },
  });
  progress.startRound(1);
  progress.add(60);
  progress.startRound(2);
  progress.add(10);
  expect(progress.counts()).toEqual({
    rolloutsDone: 70,
    rolloutsPlanned: 128,
    round: { number: 2, max: 3 },
  });
});

it('names no round without dynamic sampling', () => {
  expect(new RolloutProgress({ rolloutsPerEpoch: 64 }).counts()).toEqual({
    rolloutsDone: 0,
    rolloutsPlanned: 64,
  });
});

it.each([
  ['an epoch', {}],
  ['base tasks rolled out again', { 'pools.train.mix': { base: 1, history: 0, new: 1 } }],
  ['rounds', { 'agent.training.dynamicSampling': { informativeGroups: 16, maxRounds: 3 } }],
])('ends at what was planned: %s', async (_, fields) => {
  const run = await someRun(fields, { success: (difficulty) => (difficulty <= 3 ? 0.4 : 0) });
  const progress = new RolloutProgress(run.plan.settings);
  const seen: RolloutCounts[] = [];
  const { epoch, state } = run.prepared;
  const { metrics } = await runEpochPipeline(
    run.activities,
    { ...run.plan, epoch: epoch + 1, state },
    {
      run: (__, work) => work(),
      seconds: () => ({}),
      onRound: (round) => {
        progress.startRound(round);
      },
      onRollouts: (rollouts) => {
        progress.add(rollouts);
        seen.push(progress.counts());
      },
    },
  );
  const last = seen.at(-1)!;
  expect(last.round?.number).toBe(metrics['rollouts/rounds'] ?? undefined);
  expect(metrics['env/valid_fraction']).toBe(1);
  expect(last.rolloutsDone).toBe(last.rolloutsPlanned);
  expect(seen.every(({ rolloutsDone: done, rolloutsPlanned: planned }) => done <= planned)).toBe(true);
});
