import { describe, expect, it } from 'vitest';
import { parseComparison } from '../../src/config/comparison.ts';
import { parseExperiment } from '../../src/config/parse-experiment.ts';
import { weightsInRole } from '../../src/epochs/shared-weights.ts';
import type { CommittedEpoch } from '../../src/types/activity-types.ts';
import type { PolicyVersion } from '../../src/types/run-state.ts';
import { plainEpoch } from '../../test-support/plain-epochs.ts';
import { refusalOf } from '../../test-support/refusals.ts';
import { withFields } from '../../test-support/experiments.ts';
import { tinyComparison } from '../../test-support/tiny-comparison.ts';
import { linesOf } from '../guards/learners.ts';
import { smallFile, someRun } from './some-run.ts';
import type { SomeRun } from './some-run.ts';

/** One model in both roles (Tool-R0's ablation): `environment.sharesWeights`. */

const { model } = smallFile.agent as { model: object };
const shared = (sharesWeights: string, fields: Record<string, unknown> = {}) => ({
  'environment.model': model,
  'environment.sharesWeights': sharesWeights,
  ...fields,
});
const jobsOf = ({ trainer, dependencies }: SomeRun) =>
  trainer.jobs.map(({ job: { kind, model: start, trainer_state } }) => ({
    kind,
    start: 'path' in start ? start.path : null,
    state: trainer_state,
    pathOf: (policy: PolicyVersion) => dependencies.store.path(policy.checkpoint!),
  }));
const statePath = ({ dependencies: { store } }: SomeRun, { trainer_state }: PolicyVersion): string | null =>
  trainer_state && store.path(trainer_state);
const versionOf = ({ name }: PolicyVersion): string => name.slice(name.indexOf('@'));

describe('the weights of a policy in the other role', () => {
  const hash = 'a'.repeat(64);
  const folder = { uri: `sha256:${hash}`, sha256: hash } as unknown as PolicyVersion['checkpoint'];
  const policy = { name: 'agent@0003-aaaaaaaaaaaa', checkpoint: folder, trainer_state: null };

  it('have that role’s name, and its own optimizer state', () => {
    const before = { ...policy, name: 'environment@0002-bbbbbbbbbbbb', trainer_state: folder };
    expect(weightsInRole(policy, 'environment', before)).toEqual({
      name: 'environment@0003-aaaaaaaaaaaa',
      checkpoint: folder,
      trainer_state: folder,
    });
    expect(weightsInRole(policy, 'agent', policy)).toEqual(policy);
  });

  it('are none of ours if only a server has them', () => {
    expect(() => weightsInRole({ ...policy, checkpoint: null }, 'environment', policy)).toThrow(RangeError);
  });
});

describe('one model in both roles', () => {
  it('is warmed up once, on the corpora of both in turn', async () => {
    const run = await someRun(shared('always'));
    const { agent, environment, initial_agent, initial_environment } = run.prepared.state;
    expect([agent.checkpoint, initial_agent.checkpoint, initial_environment.checkpoint]).toEqual(
      Array.from({ length: 3 }, () => environment.checkpoint),
    );
    expect([agent.name, environment.name]).toEqual([
      expect.stringMatching(/^agent@0000-/),
      expect.stringMatching(/^environment@0000-/),
    ]);
    const [warmUp, ...more] = run.trainer.jobs;
    expect(more).toEqual([]);
    expect(warmUp!.records).toHaveLength(2 * 960);
    // The simulator's prompts begin with the agent's history.
    const isSimulators = warmUp!.records.map(({ prompt }) => prompt!.startsWith('H'));
    expect(isSimulators.every((value, row) => value === (row % 2 === 1))).toBe(true);
    expect(warmUp!.records.at(-1)!.step).toBe(19);
    expect(warmUp!.job.settings.schedule_steps).toBe(20);
  });

  it('is trained by the agent’s loss, then by the simulator’s, and both roles go on with the result', async () => {
    const run = await someRun(shared('always'));
    const committed: CommittedEpoch[] = [run.prepared];
    for (let epoch = 1; epoch <= 3; epoch++) committed.push(await run.epochs(epoch, committed.at(-1)));
    for (const { state } of committed) {
      expect(state.agent.checkpoint).toEqual(state.environment.checkpoint);
      expect(versionOf(state.agent)).toBe(versionOf(state.environment));
    }
    expect(new Set(committed.map(({ state }) => state.agent.name)).size).toBe(4);
    const [, ...jobs] = jobsOf(run);
    expect(jobs.map(({ kind }) => kind)).toEqual(['grpo', 'rwr', 'grpo', 'rwr', 'grpo', 'rwr']);
    for (let epoch = 1; epoch <= 3; epoch++) {
      const [grpo, rwr] = jobs.slice(2 * epoch - 2, 2 * epoch);
      const [before, after] = [committed[epoch - 1]!.state, committed[epoch]!.state];
      expect(grpo!.start).toBe(grpo!.pathOf(before.agent));
      // The simulator's update starts from the agent's, which is in no state by itself.
      expect(rwr!.start).not.toBe(rwr!.pathOf(before.environment));
      expect(rwr!.start).not.toBe(rwr!.pathOf(after.environment));
      expect([grpo!.state, rwr!.state]).toEqual([
        statePath(run, before.agent),
        statePath(run, before.environment),
      ]);
    }
    // Both names are asked of the server.
    const requested = new Set(run.server.requests.map((request) => request.model));
    for (const { state } of committed.slice(0, 3)) {
      expect(requested).toContain(state.agent.name);
      expect(requested).toContain(state.environment.name);
    }
  });

  it('keeps the agent’s update if the simulator has none', async () => {
    const run = await someRun(shared('always', { 'guards.flatRewards': 1 }));
    const { state } = await run.epochs(1);
    expect(run.trainer.jobs.map(({ job: { kind } }) => kind)).toEqual(['supervised', 'grpo']);
    expect(state.agent.name).toMatch(/^agent@0001-/);
    expect(state.environment.checkpoint).toEqual(state.agent.checkpoint);
    expect(state.environment.trainer_state).toBeNull();
  });

  it('is rolled back in both roles if the agent has forgotten', async () => {
    const run = await someRun(
      shared('always', {
        'guards.gateAgent': { every: 1 },
        'world.heldOutPerCell': 20,
        'world.heldOutLengths': [3, 5],
      }),
      { success: (_, name) => [0.5, 0.7, 0.05][Number(/@(\d+)/.exec(name)?.[1])] ?? 0.9 },
    );
    const first = await run.epochs(1);
    const two = await run.epochs(2, first);
    expect(two.metrics['eval/anchor_rolled_back']).toBe(1);
    expect(two.state.agent).toEqual(first.state.agent);
    expect(two.state.environment).toMatchObject({
      name: first.state.environment.name,
      checkpoint: first.state.environment.checkpoint,
    });
    await run.epochs(3, two);
    const [grpo] = jobsOf(run).slice(-2);
    expect(grpo!.start).toBe(grpo!.pathOf(first.state.agent));
  });

  it('gives the same ledger in another folder, and an epoch that is run again trains nothing again', async () => {
    const ledgers: string[] = [];
    for (let copy = 0; copy < 2; copy++) {
      const run = await someRun(shared('always'));
      const first = await run.epochs(1);
      const two = await run.epochs(2, first);
      const jobs = run.trainer.jobs.length;
      expect((await plainEpoch(run.again(), run.plan, first)).line).toBe(two.line);
      expect(run.trainer.jobs).toHaveLength(jobs);
      ledgers.push(JSON.stringify(await linesOf(run)));
    }
    expect(ledgers[1]).toBe(ledgers[0]);
  });
});

describe('one model at the start', () => {
  it('is trained apart from then on', async () => {
    const run = await someRun(shared('start'));
    const { agent, environment } = run.prepared.state;
    expect(agent.checkpoint).toEqual(environment.checkpoint);
    const { state } = await run.epochs(1);
    expect(state.agent.checkpoint).not.toEqual(state.environment.checkpoint);
    expect(
      jobsOf(run).map(({ kind, start, pathOf }) => kind === 'supervised' || start === pathOf(agent)),
    ).toEqual([true, true, true]);
  });
});

describe('shared weights are refused', () => {
  const problemOf = (fields: Record<string, unknown>): string =>
    refusalOf(parseExperiment, withFields(smallFile, fields));

  it.each([
    [
      { 'environment.sharesWeights': 'start' },
      'environment.sharesWeights: got "start"; expected agent.model and environment.model to be the same, since one model plays both roles',
    ],
    [
      shared('always', { 'trainer.concurrentUpdates': true }),
      'trainer.concurrentUpdates: got true; with environment.sharesWeights "always" the second update starts from the first: leave it out',
    ],
    [
      shared('always', { arm: { type: 'random' } }),
      'environment.sharesWeights: got "always"; expected the arm "genenv" with both policies trained: leave it out, or set it to "start"',
    ],
    [
      shared('always', { 'agent.training': null }),
      'environment.sharesWeights: got "always"; expected the arm "genenv" with both policies trained: leave it out, or set it to "start"',
    ],
  ])('%j', (fields, problem) => {
    expect(problemOf(fields)).toBe(`experiment: ${problem}`);
  });

  it('in a comparison with arms that start as two models, not with arms that start as one', () => {
    const comparison = tinyComparison();
    const { agent } = comparison.experiment as { agent: { model: object } };
    const file = (random: object) => ({
      ...withFields(comparison, { 'experiment.environment.model': agent.model }),
      arms: {
        random: { arm: { type: 'random' }, environment: { training: null, ...random } },
        shared: { environment: { sharesWeights: 'always' } },
      },
      baseline: 'random',
      crossPlay: null,
      probes: null,
    });
    expect(refusalOf(parseComparison, file({}))).toMatch(
      /these differ \(environment\.sharesWeightsAtStart: /,
    );
    expect(Object.keys(parseComparison(file({ sharesWeights: 'start' })).arms)).toEqual(['random', 'shared']);
  });
});
