import { expect, test } from 'vitest';
import { parseExperiment } from '../../src/config/parse-experiment.ts';
import { mean } from '../../src/numerics/arithmetic.ts';
import { workflowSettings } from '../../src/runs/settings-in-effect.ts';
import type { SeedTaskRecord } from '../../src/types/records.ts';
import { createWorld } from '../../src/worlds/registry.ts';
import { experimentFile, withFields } from '../../test-support/experiments.ts';
import { refusalOf } from '../../test-support/refusals.ts';
import { smallFile, someRun } from './some-run.ts';

const fields = { 'evaluation.logprob': true, 'evaluation.every': 1, 'guards.frozenSamples': 0 };
/** Chance of a right answer, by the agent of an epoch. */
const success = (difficulty: number, model: string) =>
  (model.startsWith('agent@0000') ? 0.5 : 0.9) ** difficulty;

test.each([1, 4])(
  'the mean log-probability of right held-out answers is reported, of %i samples',
  async (samples) => {
    const run = await someRun({ ...fields, 'evaluation.samples': samples }, { success });
    const heldOut = await run.records<SeedTaskRecord>(run.prepared.state.held_out);
    const world = createWorld(parseExperiment(withFields(smallFile, fields)).world);
    const expected = (base: number) =>
      mean(heldOut.map(({ spec }) => world.difficulty(spec) * Math.log(base)))!;
    expect(run.prepared.metrics['eval/heldout_logprob']).toBeCloseTo(expected(0.5), 9);
    expect(run.prepared.metrics['eval/heldout_answer_probability']).toBeCloseTo(
      mean(heldOut.map(({ spec }) => 0.5 ** world.difficulty(spec)))!,
      9,
    );
    const { metrics } = await run.epochs(1);
    expect(metrics['eval/heldout_logprob']).toBeCloseTo(expected(0.9), 9);
    expect(metrics['eval/heldout_probability']).toBeUndefined();
  },
);

test('without the setting nothing is measured', async () => {
  const run = await someRun({ 'guards.frozenSamples': 0 }, { success });
  expect(run.prepared.metrics['eval/heldout_logprob']).toBeUndefined();
  expect(run.prepared.metrics['eval/heldout_answer_probability']).toBeUndefined();
  expect(run.server.logprobsRequests).toEqual([]);
});

test('is had of a world that takes several texts for right, and refused of one of several turns', () => {
  const settingsOf = (name: string) => {
    const experiment = parseExperiment(withFields(experimentFile(name), { 'evaluation.logprob': true }));
    return () => workflowSettings(experiment, createWorld(experiment.world));
  };
  expect(settingsOf('smollm2-embedded')).not.toThrow();
  expect(settingsOf('minidesk')).toThrow(
    'experiment: evaluation.logprob: got true; a rollout of the world "minidesk" takes several turns: leave it out',
  );
});

test('a server that gives no probabilities is refused', () => {
  expect(
    refusalOf(parseExperiment, withFields(experimentFile('smollm2'), { 'evaluation.logprob': true })),
  ).toMatch(
    /^experiment: evaluation\.logprob: got true; a server of serving\.type "vllm" gives no probabilities/,
  );
});
