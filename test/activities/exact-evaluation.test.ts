import { expect, test } from 'vitest';
import { parseExperiment } from '../../src/config/parse-experiment.ts';
import { mean } from '../../src/numerics/arithmetic.ts';
import { workflowSettings } from '../../src/runs/settings-in-effect.ts';
import type { SeedTaskRecord, VerdictRecord } from '../../src/types/records.ts';
import { createWorld } from '../../src/worlds/registry.ts';
import { experimentFile, withFields } from '../../test-support/experiments.ts';
import { refusalOf } from '../../test-support/refusals.ts';
import { linesOf } from '../guards/learners.ts';
import { smallFile, someRun } from './some-run.ts';
import type { SomeRun } from './some-run.ts';

const fields = {
  'evaluation.exact': true,
  'evaluation.every': 1,
  'evaluation.samples': 256,
  'world.heldOutPerCell': 4,
  'guards.frozenSamples': 0,
};
const success = (difficulty: number, model: string) =>
  (model.startsWith('agent@0000') ? 0.5 : 0.9) ** difficulty;

const evaluationOf = (metrics: Record<string, number | null>): Record<string, number | null> =>
  Object.fromEntries(Object.entries(metrics).filter(([name]) => name.startsWith('eval/heldout')));

test('held-out success is reported exactly, in all and by cell, next to its samples', async () => {
  const run = await someRun(fields, { success });
  await run.epochs(1);
  const lines = await linesOf(run);
  const heldOut = (await run.records<SeedTaskRecord>(run.prepared.state.held_out)).map(({ spec }) => spec);
  const world = createWorld(parseExperiment(withFields(smallFile, fields)).world);
  for (const [epoch, base] of [0.5, 0.9].entries()) {
    const { metrics, outputs } = lines[epoch]!;
    const meanOf = (specs: readonly string[]) => mean(specs.map((spec) => base ** world.difficulty(spec)))!;
    expect(metrics['eval/heldout_probability']).toBeCloseTo(meanOf(heldOut), 12);
    for (const kind of ['T', 'U'])
      expect(metrics[`eval/heldout_probability/${kind}`]).toBeCloseTo(
        meanOf(heldOut.filter((spec) => world.kind(spec) === kind)),
        12,
      );
    for (const difficulty of [1, 2, 3])
      expect(metrics[`eval/heldout_probability_difficulty/${difficulty}`]).toBeCloseTo(
        base ** difficulty,
        12,
      );
    // Some 6,000 samples, of a seed.
    expect(Math.abs(metrics['eval/heldout']! - metrics['eval/heldout_probability']!)).toBeLessThan(0.02);
    const verdicts = (
      await Promise.all(outputs.verdicts.map((file) => run.records<VerdictRecord>(file)))
    ).flat();
    const exact = verdicts.filter(({ probability }) => probability !== undefined);
    expect(exact.map(({ sample }) => sample)).toEqual(heldOut.map(() => 0));
  }
});

test('without the setting nothing is received for it, and all else is as it was', async () => {
  const { 'evaluation.exact': exact, ...rest } = fields;
  const [plain, measured] = [
    await someRun(rest, { success }),
    await someRun({ ...rest, 'evaluation.exact': exact }, { success }),
  ];
  const sampled = (run: SomeRun) =>
    Object.fromEntries(
      Object.entries(evaluationOf(run.prepared.metrics)).filter(([name]) => !name.includes('probability')),
    );
  expect(plain.server.logprobsRequests).toEqual([]);
  expect(evaluationOf(plain.prepared.metrics)).toEqual(sampled(measured));
  expect(measured.server.logprobsRequests.length).toBeGreaterThan(0);
});

test('what was answered is not asked for again, and the ledger has the same bytes', async () => {
  const undisturbed = await someRun({ ...fields, 'evaluation.samples': 1 }, { success });
  const { state } = undisturbed.prepared;
  const { run } = undisturbed.plan;
  const input = { run, epoch: 3, state, agent: state.agent, shard: 0, shards: 1 };
  const before = undisturbed.server.logprobsRequests.length;
  const expected = await undisturbed.activities.evaluatePolicy(input);
  const requests = undisturbed.server.logprobsRequests.slice(before);
  expect(requests.length).toBeGreaterThan(2);

  const disturbed = await someRun({ ...fields, 'evaluation.samples': 1 }, { success });
  const received = () => disturbed.server.logprobsRequests.slice(before);
  disturbed.server.nextFaults.push(undefined, undefined, 'server error');
  await expect(disturbed.activities.evaluatePolicy(input)).rejects.toMatchObject({
    name: 'ModelUnavailable',
  });
  expect(received()).toEqual(requests.slice(0, 3));
  const { retried, ...evaluated } = await disturbed.again().evaluatePolicy(input);
  expect(retried).toBe(1);
  expect(evaluated).toEqual({ ...expected, retried: undefined });
  expect(received()).toEqual([...requests.slice(0, 3), ...requests.slice(2)]);
});

test('a world, a server and a temperature that cannot have it are refused by name', () => {
  const refused = (changes: Record<string, unknown>) =>
    refusalOf(parseExperiment, withFields(smallFile, { 'evaluation.exact': true, ...changes }));
  expect(refused({})).toBe('accepted');
  expect(refused({ 'evaluation.temperature': 0.7 })).toBe(
    'experiment: evaluation.exact: got true; the probability is that at evaluation.temperature 1, and it is 0.7',
  );
  expect(
    refused({
      serving: {
        type: 'openai',
        baseUrl: 'http://127.0.0.1:9/v1',
        publish: 'vllm-lora',
        apiKeyEnv: null,
        returnsTokenIds: true,
      },
    }),
  ).toMatch(/evaluation\.exact: got true; a server of serving\.type "openai" gives no probabilities/);
  const minidesk = parseExperiment(withFields(experimentFile('minidesk'), { 'evaluation.exact': true }));
  expect(() => workflowSettings(minidesk, createWorld(minidesk.world))).toThrow(
    'experiment: evaluation.exact: got true; the world "minidesk" takes more than one text for right: leave it out',
  );
});
