import { describe, expect, it } from 'vitest';
import { mean } from '../../src/numerics/arithmetic.ts';
import type { EnvironmentPoolRecord, FilterRecord, ScoreRecord } from '../../src/types/records.ts';
import type { BatchRecord } from '../../test-support/fake-trainer.ts';
import { someRun } from '../activities/some-run.ts';
import { lastUpdate, learnFor, LearningSimulator, linesOf, tasksOf, textOf } from './learners.ts';

/**
 * Guards on what the simulator writes: validity, copies, near copies, two-humped batches, answers that ought
 * not to count.
 */

const letters = [...'abcdefgh'];
const word = (random: { pick: (from: string[]) => string }, length: number): string =>
  Array.from({ length }, () => random.pick(letters)).join('');

describe('texts that are no task', () => {
  it('earn nothing, so a simulator that writes many of them writes fewer', async () => {
    const simulator = new LearningSimulator(
      { task: 0.5, text: 0.5 },
      (text) => (text.startsWith('T:') ? 'task' : 'text'),
      (kind, random) => (kind === 'task' ? `T:${word(random, 4)}` : 'what?'),
    );
    const run = await someRun({ 'guards.frozenSamples': 0 }, { success: () => 0.5, task: simulator.task });
    const { metrics } = await learnFor(run, 4, { simulator });
    expect(simulator.shares.get('text')).toBeLessThan(0.1);
    expect(lastUpdate(run).every((record) => textOf(record).startsWith('T:'))).toBe(true);
    const first = (await linesOf(run))[1]!;
    expect(first.metrics['env/valid_fraction']).toBeLessThan(0.8);
    expect(metrics['env/valid_fraction']!).toBeGreaterThan(first.metrics['env/valid_fraction']!);
    const rolledOut = (await tasksOf(run, 1)).filter(({ valid }) => valid).length * 4;
    expect(first.metrics['rollouts/count']).toBe(rolledOut);
  });
});

describe('copies', () => {
  /** A simulator that has found one task in the middle of the band, and writes it half of the time. */
  async function copying(fields: Record<string, unknown>): Promise<LearningSimulator> {
    const simulator = new LearningSimulator(
      { copy: 0.5, random: 0.5 },
      (text) => (text === 'T:aaaa' ? 'copy' : 'random'),
      (kind, random) => (kind === 'copy' ? 'T:aaaa' : `T:${word(random, 5)}`),
    );
    const run = await someRun(
      { ...fields, 'guards.frozenSamples': 0, 'guards.randomSuccess': null },
      { success: (difficulty) => (difficulty === 4 ? 0.5 : 0.25), task: simulator.task },
    );
    await learnFor(run, 4, { simulator });
    return simulator;
  }

  it('take a simulator over that nobody counts them to', async () => {
    expect(
      (await copying({ 'pools.environment': { deduplicate: false, memory: null } })).shares.get('copy'),
    ).toBeGreaterThan(0.65);
  });

  it('share one weight where they are counted', async () => {
    expect((await copying({ 'pools.environment': { memory: null } })).shares.get('copy')).toBeLessThan(0.25);
  });

  it('are held less where the memory does not count its own, and as well where it does', async () => {
    const remembered = (await copying({})).shares.get('copy');
    expect(remembered).toBeGreaterThan(0.3);
    expect(remembered).toBeLessThan(0.45);
    expect(
      (await copying({ 'pools.environment': { memory: { deduplicate: true } } })).shares.get('copy'),
    ).toBeLessThan(0.25);
  });

  it.each([
    ['in full', false, 10, 20],
    ['as one with those of the epoch', true, 0.5, 1],
  ])('of the memory count %s (deduplicate %s)', async (_, deduplicate, least, most) => {
    const fields = {
      'pools.environment.memory': { deduplicate },
      'guards.familyCap': null,
      'guards.frozenSamples': 0,
      'environment.training.stepsPerEpoch': 1,
    };
    const run = await someRun(fields, { success: () => 0.5, task: () => 'T:aaaa' });
    await run.epochs(3);
    const remembered = lastUpdate(run).filter(({ group_id }) => group_id.startsWith('epoch-0002/'));
    expect(remembered).toHaveLength(16);
    const weight = remembered.reduce((sum, record) => sum + record.weight, 0);
    expect(weight).toBeGreaterThan(least);
    expect(weight).toBeLessThan(most);
  });
});

describe('near copies', () => {
  async function nearly(clusterDistance: number | null): Promise<number> {
    const simulator = new LearningSimulator(
      { near: 0.5, far: 0.5 },
      (text) => (text.startsWith('T:aaaaaaa') ? 'near' : 'far'),
      (kind, random) => (kind === 'near' ? `T:aaaaaaa${random.pick(letters)}` : `T:${word(random, 8)}`),
    );
    const run = await someRun(
      {
        'guards.clusterDistance': clusterDistance,
        'guards.frozenSamples': 0,
        'environment.initialShare': 0,
        'pools.environment': { memory: null, deduplicate: false },
      },
      { success: (_, __, spec) => (spec.startsWith('T:aaaaaaa') ? 0.5 : 0.25), task: simulator.task },
    );
    await learnFor(run, 5, { simulator });
    return simulator.shares.get('near')!;
  }

  it('are as good as new tasks to a simulator until they weigh as one', async () => {
    expect(await nearly(null)).toBeGreaterThan(0.55);
    expect(await nearly(0.3)).toBeLessThan(0.35);
  });
});

describe('a batch with two humps', () => {
  it('looks perfect as a batch and worthless task by task', async () => {
    const task = (_: string, random: { int: (n: number) => number }) =>
      random.int(2) === 0 ? 'T:abc' : 'T:abcdefgh';
    const metricsOf = async (per: string) => {
      const run = await someRun(
        { 'difficulty.per': per, 'environment.variationsPerPrompt': 8, 'guards.frozenSamples': 0 },
        { success: (difficulty) => (difficulty < 5 ? 1 : 0), task },
      );
      return (await run.epochs(1)).metrics;
    };
    const [batch, each] = [await metricsOf('batch'), await metricsOf('task')];
    expect(batch['env/success_rate']).toBeGreaterThan(0.3);
    expect(batch['env/reward']).toBeGreaterThan(0.7);
    expect(each['env/reward']).toBeCloseTo(Math.exp(-2), 12);
    for (const metrics of [batch, each])
      expect([metrics['env/signal'], metrics['env/effective_group_ratio']]).toEqual([0, 0]);
  });
});

describe('stale records', () => {
  /** Four symbols are half solved in the first epochs, and always from the third on. */
  const success = (difficulty: number, model: string): number => {
    const hasLearnt = Number(/@(\d+)/.exec(model)?.[1]) >= 2;
    const [easy, hard] = hasLearnt ? [1, 0.5] : [0.5, 0.1];
    return difficulty <= 4 ? easy : hard;
  };

  async function trainedOn(
    environment: Record<string, unknown>,
  ): Promise<{ lengths: number[]; stale: number; age: number | null }> {
    const run = await someRun(
      {
        'pools.environment': environment,
        'guards.frozenSamples': 0,
        'environment.training': { recordsPerStep: 200, stepsPerEpoch: 1 },
      },
      { success, task: (_, random) => `T:${word(random, random.int(2) === 0 ? 4 : 6)}` },
    );
    const { metrics } = await run.epochs(4);
    const weightOf = (counts: (record: BatchRecord) => boolean) =>
      lastUpdate(run)
        .filter(counts)
        .reduce((sum, { weight }) => sum + weight, 0);
    const weights = (length: number) => weightOf((record) => textOf(record).length === length + 2);
    const stale = weightOf(({ group_id }) => !group_id.startsWith('epoch-0004/')) / weightOf(() => true);
    return { lengths: [weights(4), weights(6)], stale, age: metrics['pool/env_mean_age'] ?? null };
  }

  it('pull the simulator back to what was hard once, where D_env never forgets', async () => {
    const {
      lengths: [easy = 0, hard = 0],
      age,
    } = await trainedOn({ window: null, memory: null });
    expect(age).toBeGreaterThan(1);
    expect(easy).toBeGreaterThan(hard * 0.5);
  });

  it('are gone after the window', async () => {
    const {
      lengths: [easy = 0, hard = 0],
      stale,
      age,
    } = await trainedOn({ window: 1, memory: null });
    expect([age, stale]).toEqual([0, 0]);
    expect(easy).toBeLessThan(hard * 0.3);
  });

  it('keep more than half of the weight where there is a memory, and pull less all the same', async () => {
    const {
      lengths: [easy = 0, hard = 0],
      stale,
      age,
    } = await trainedOn({});
    expect(age).toBeGreaterThan(0);
    expect(stale).toBeGreaterThan(0.5);
    expect(stale).toBeLessThan(0.7);
    expect(easy).toBeLessThan(hard * 0.5);
  });
});

describe('a checker that contradicts itself', () => {
  it('teaches neither policy on the tasks where it did', async () => {
    const run = await someRun(
      { 'world.tools': 2, 'world.coinFlipTools': 1, 'guards.frozenSamples': 0 },
      { success: () => 0.5, task: (_, random) => `${random.pick(['T', 'U'])}:${word(random, 6)}` },
    );
    const { metrics, state } = await run.epochs(1);
    const { outputs } = (await linesOf(run)).at(-1)!;
    const scores = await run.records<ScoreRecord>(outputs.scores);
    const decisions = await run.records<FilterRecord>(outputs.decisions);
    const differ = scores.filter(({ verdicts_differ }) => verdicts_differ).map(({ task_id }) => task_id);
    expect(differ.length).toBeGreaterThan(3);
    for (const { task_id, kept_for_agent, kept_for_environment, reason } of decisions)
      if (differ.includes(task_id))
        expect([kept_for_agent, kept_for_environment, reason]).toEqual([false, false, 'verdicts differ']);
    expect(metrics['env/filtered/verdicts_differ']).toBe(differ.length);
    expect(metrics['env/verdict_agreement']).toBeLessThan(1);
    const pool = await run.records<EnvironmentPoolRecord>(state.environment_pool);
    expect(pool.some(({ id }) => differ.includes(id))).toBe(false);
    const trained = run.trainer.jobs.findLast(({ job: { kind } }) => kind === 'grpo')!.records;
    expect(trained.length).toBeGreaterThan(0);
    expect(trained.some(({ group_id }) => differ.includes(group_id))).toBe(false);
  });
});

describe('answers that try to be taken for right', () => {
  it.each([
    ['nothing at all', ''],
    ['the prompt again', 'T:abcdef='],
    ['every call at once', 'T(abcdef)T(bcdefa)T(cdefab)'],
    ['the arguments of another tool', 'U(abcdef)'],
    ['a call with something after it', 'T(abcdef) '],
  ])('%s: no success', async (_, answer) => {
    const run = await someRun(
      { 'guards.frozenSamples': 0, epochs: 1, 'evaluation.every': 9 },
      { task: () => 'T:abcdef', answer: () => answer },
    );
    const { metrics } = await run.epochs(1);
    expect([metrics['env/success_rate'], metrics.reward]).toEqual([0, 0]);
    expect(
      mean(
        (await run.records<ScoreRecord>((await linesOf(run)).at(-1)!.outputs.scores)).map(
          ({ successes }) => successes,
        ),
      ),
    ).toBe(0);
  });
});
