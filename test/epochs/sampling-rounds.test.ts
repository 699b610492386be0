import { readFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { parseExperiment } from '../../src/config/parse-experiment.ts';
import type { LedgerEntry } from '../../src/runs/ledger-entry.ts';
import { estimateResources } from '../../src/runs/resource-estimate.ts';
import type { RewardRecord, ScoreRecord, TaskRecord, TraceRecord } from '../../src/types/records.ts';
import { createWorld } from '../../src/worlds/registry.ts';
import { withFields } from '../../test-support/experiments.ts';
import type { ToolboxPlayer } from '../../test-support/fake-toolbox-model.ts';
import { plainEpoch } from '../../test-support/plain-epochs.ts';
import type { Activities } from '../../test-support/plain-epochs.ts';
import { smallFile, someRun } from '../activities/some-run.ts';
import type { SomeRun } from '../activities/some-run.ts';

/** Rounds of 16 tasks with 4 rollouts each; short tasks have a signal now and then, long ones have none. */
const hard: ToolboxPlayer = { success: (difficulty) => (difficulty <= 3 ? 0.4 : 0) };
const dynamic = (informativeGroups: number, maxRounds: number) => ({
  'agent.training.dynamicSampling': { informativeGroups, maxRounds },
});

async function lastLine({ dependencies, plan }: SomeRun): Promise<LedgerEntry> {
  const folder = dependencies.runFolder(plan.run.id);
  return (await folder.ledger<LedgerEntry>(plan.run.experiment.sha256).read()).at(-1)!;
}

async function recordsOf(run: SomeRun) {
  const { outputs, metrics } = await lastLine(run);
  const traces = await Promise.all(outputs.traces.map((file) => run.records<TraceRecord>(file)));
  return {
    metrics,
    tasks: await run.records<TaskRecord>(outputs.tasks),
    traces: traces.flat(),
    rewards: await run.records<RewardRecord>(outputs.rewards),
    scores: await run.records<ScoreRecord>(outputs.scores),
  };
}

const trainedGroups = ({ trainer }: SomeRun): Set<string> =>
  new Set(
    trainer.jobs
      .filter(({ job }) => job.kind === 'grpo')
      .at(-1)!
      .records.map(({ group_id }) => group_id),
  );

describe('dynamic sampling', () => {
  it('adds rounds until enough groups inform; all rollouts count, and all groups that inform are trained on', async () => {
    const run = await someRun(dynamic(10, 20), hard);
    const { state, notes } = await run.epochs(1);
    const { metrics, tasks, traces, rewards, scores } = await recordsOf(run);
    const rounds = metrics['rollouts/rounds']!;
    expect(rounds).toBeGreaterThan(1);
    expect(rounds).toBeLessThan(20);
    expect(metrics['rollouts/rounds_capped']).toBe(0);

    // Ids are numbered on, round after round, and no round repeats another.
    expect(tasks.map(({ id }) => id)).toEqual(
      Array.from({ length: 16 * rounds }, (_, index) => `epoch-0001/task-${String(index).padStart(2, '0')}`),
    );
    const seeds = traces.filter(({ role }) => role === 'agent').map(({ sampled: { seed } }) => seed);
    const prompts = run.server.requests.map(({ seed, model }) => `${model} ${seed}`);
    expect(new Set(prompts).size).toBe(prompts.length);
    expect(new Set(seeds).size).toBeGreaterThan(rounds);
    expect(new Set(tasks.map(({ batch_id }) => batch_id)).size).toBe(4 * rounds);
    const texts = tasks.map(({ spec }) => spec);
    for (const [index, { repeats, spec }] of tasks.entries())
      expect(repeats).toBe(texts.slice(0, index).filter((text) => text === spec).length);

    // Everything is counted, and measured once.
    expect(metrics['rollouts/count']).toBe(64 * rounds);
    expect(rewards.map(({ id }) => id)).toEqual(traces.map(({ id }) => id));
    expect(new Set(traces.map(({ id }) => id)).size).toBe(80 * rounds);
    expect(scores.map(({ attempts }) => attempts)).toEqual(tasks.map(() => 4));
    expect(metrics['pool/env_size']).toBe(16 * rounds);
    const sampled = [...tasks, ...traces].map((record) => record.sampled?.token_ids.length ?? 0);
    expect(state.tokens - run.prepared.state.tokens).toBe(sampled.reduce((sum, count) => sum + count, 0));

    const informative = scores.filter(({ informative: has }) => has).map(({ task_id }) => task_id);
    expect(metrics['rollouts/informative_groups']).toBe(informative.length);
    expect(informative.length).toBeGreaterThanOrEqual(10);
    const before = scores.slice(0, 16 * (rounds - 1)).filter(({ informative: has }) => has);
    expect(before.length).toBeLessThan(10);
    expect(trainedGroups(run)).toEqual(new Set(informative));
    expect(notes).toEqual([]);
  });

  it('ends at its cap, and trains on what there is', async () => {
    const run = await someRun(dynamic(40, 3), hard);
    await run.epochs(1);
    const { metrics } = await recordsOf(run);
    expect(metrics).toMatchObject({
      'rollouts/rounds': 3,
      'rollouts/rounds_capped': 1,
      'rollouts/count': 3 * 64,
    });
    expect(metrics['rollouts/informative_groups']).toBeGreaterThan(1);
    expect(trainedGroups(run).size).toBe(metrics['rollouts/informative_groups']);
  });

  it('whose first round suffices samples, rewards and trains as a run without it', async () => {
    const easy = { success: () => 0.5 };
    const plain = await someRun({}, easy);
    const refilled = await someRun(dynamic(4, 8), easy);
    await plain.epochs(1);
    await refilled.epochs(1);
    const { metrics, ...records } = await recordsOf(refilled);
    const { metrics: expected, ...unrefilled } = await recordsOf(plain);
    expect(records).toEqual(unrefilled);
    const { 'rollouts/rounds': rounds, 'rollouts/informative_groups': informative } = metrics;
    expect([rounds, informative]).toEqual([1, trainedGroups(plain).size]);
    // What the fake trainer says is a hash of the job's inputs.
    const names = Object.keys(expected).filter((name) => !/loss|grad_norm/.test(name));
    expect(names.map((name) => [name, metrics[name]])).toEqual(names.map((name) => [name, expected[name]]));
  });

  it('counts groups that a guard or a filter keeps from the agent for none', async () => {
    const filter = { type: 'threshold', kMin: 0.1, appliesTo: ['agent', 'environment'] };
    const run = await someRun(
      { ...dynamic(4, 2), filter, 'agent.rolloutsPerTask': 3 },
      { success: () => 0.5 },
    );
    await run.epochs(1);
    const { metrics } = await recordsOf(run);
    // Of three attempts none has a success rate from 0.4 to 0.6.
    expect(metrics).toMatchObject({ 'rollouts/rounds': 2, 'rollouts/informative_groups': 0 });
  });

  it.each([
    ['random', {}],
    ['static', {}],
    ['selection', { candidates: 2 }],
    ['window', { start: 3 }],
    ['uniform', {}],
    ['oracle', {}],
  ])('refills the arm %s from its own source of tasks', async (type, rest) => {
    const run = await someRun(
      { ...dynamic(40, 3), arm: { type, ...rest }, 'world.maxLength': 16 },
      { success: () => 0.1 },
    );
    await run.epochs(2);
    const { metrics, tasks } = await recordsOf(run);
    expect(metrics).toMatchObject({ 'rollouts/rounds': 3, 'rollouts/count': 192 });
    const specs = [0, 1, 2].map((round) => tasks.slice(16 * round, 16 * round + 16).map(({ spec }) => spec));
    expect(specs[1]).not.toEqual(specs[0]);
    expect(specs[2]).not.toEqual(specs[1]);
    expect(new Set(specs.flat()).size).toBeGreaterThan(new Set(specs[0]).size);
  });

  it('draws base and earlier tasks in each round too', async () => {
    const run = await someRun(
      { ...dynamic(64, 2), 'pools.train.mix': { base: 1, history: 1, new: 2 } },
      hard,
    );
    await run.epochs(2);
    const { tasks, metrics } = await recordsOf(run);
    expect(metrics['rollouts/count']).toBe(2 * 32 * 4);
    const sources = tasks.map(({ source }) => source);
    expect(sources.slice(0, 16)).toEqual(Array.from({ length: 16 }, () => 'new'));
    expect(sources.slice(16, 32)).not.toContain('new');
    expect(sources.slice(32, 48)).toEqual(Array.from({ length: 16 }, () => 'new'));
    expect(sources.slice(48)).not.toContain('new');
  });
});

/** The activities, of which the `last` may do its work and then loses its answer, as when its worker is killed. */
function dying(activities: Activities, last: number): Activities {
  let calls = 0;
  const call = (work: (input: never) => Promise<unknown>) => async (input: never) => {
    const result = await work(input);
    calls += 1;
    if (calls > last) throw new Error('killed');
    return result;
  };
  return Object.fromEntries(
    Object.entries(activities).map(([name, work]) => [
      name,
      call(work as (input: never) => Promise<unknown>),
    ]),
  ) as unknown as Activities;
}

it('an epoch of several rounds that is killed after any of its activities ends with the same ledger', async () => {
  const undisturbed = await someRun(dynamic(10, 20), hard);
  await undisturbed.epochs(1);
  const expected = await readFile(undisturbed.dependencies.runFolder('some-run').ledgerFile, 'utf8');
  const requests = undisturbed.server.requests.length;

  const killed = await someRun(dynamic(10, 20), hard);
  let deaths = 0;
  for (let last = 0; ; last++) {
    try {
      await plainEpoch(dying(killed.again(), last), killed.plan, killed.prepared);
      break;
    } catch (error) {
      expect((error as Error).message).toBe('killed');
      deaths += 1;
    }
  }
  // Each round has two shards of generation, two of rollouts, and three more activities.
  expect(deaths).toBeGreaterThan(14);
  expect(await readFile(killed.dependencies.runFolder('some-run').ledgerFile, 'utf8')).toBe(expected);
  // What was recorded is not sampled again.
  expect(killed.server.requests.length).toBe(requests);
});

describe('the settings of dynamic sampling', () => {
  const problemsOf = (fields: Record<string, unknown>) => () =>
    parseExperiment(withFields(smallFile, fields));

  it('are left out of a file that does not name them', () => {
    expect(parseExperiment(smallFile).agent.training).not.toHaveProperty('dynamicSampling');
    expect(parseExperiment(withFields(smallFile, dynamic(4, 2))).agent.training?.dynamicSampling).toEqual({
      informativeGroups: 4,
      maxRounds: 2,
    });
  });

  it('are refused if nothing is dropped, or if so many groups cannot be', () => {
    expect(problemsOf({ ...dynamic(4, 2), 'agent.training.dropZeroVariance': false })).toThrow(
      'agent.training.dropZeroVariance: got false; agent.training.dynamicSampling refills what is dropped',
    );
    expect(problemsOf(dynamic(33, 2))).toThrow(
      'agent.training.dynamicSampling.informativeGroups: got 33; 2 rounds have only 32 tasks',
    );
    expect(problemsOf({ ...dynamic(4, 64), 'environment.promptsPerEpoch': 100_000 })).toThrow('rollouts');
  });

  it('multiply what a run takes at most', () => {
    const [plain, refilled] = [smallFile, withFields(smallFile, dynamic(4, 3))].map((file) => {
      const experiment = parseExperiment(file);
      return estimateResources(experiment, createWorld(experiment.world));
    });
    expect(refilled!.rollouts).toBe(3 * plain!.rollouts);
    expect(refilled!.tasks).toBe(3 * plain!.tasks);
    expect(refilled!.prompts.simulator).toBe(3 * plain!.prompts.simulator);
    expect(refilled!.evaluations).toBe(plain!.evaluations);
    // Two shards of generation, two of rollouts, and three activities, in two more rounds of five epochs.
    expect(refilled!.activities - plain!.activities).toBe(7 * 2 * 5);
  });
});
