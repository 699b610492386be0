import { describe, expect, it } from 'vitest';
import type { FilterRecord, HistoryRecord } from '../../src/types/records.ts';
import { pretrainedModel, someRun } from '../activities/some-run.ts';
import { linesOf, tasksOf } from './learners.ts';

/** Guards on the updates themselves: starvation, groups and rewards without a signal, forgetting. */

const kinds = (run: Awaited<ReturnType<typeof someRun>>): string[] =>
  run.trainer.jobs.map(({ job: { kind } }) => kind).filter((kind) => kind !== 'supervised');
const paper = { arm: { type: 'genenv', preset: 'paper' } };

describe('starvation', () => {
  /** At one success in four attempts the paper's filter, 0.1 wide, never keeps anything. */
  const success = (difficulty: number): number => (difficulty <= 3 ? 0.3 : 0.05);
  const strict = {
    ...paper,
    'difficulty.per': 'task',
    filter: { type: 'threshold', kMin: 0.1 },
    'agent.rolloutsPerTask': 3,
    epochs: 8,
  };
  const lengths = { taskLength: (random: { int: (n: number) => number }) => 2 + random.int(6) };

  it('lasts where nothing is done about it', async () => {
    const run = await someRun(strict, { success, ...lengths });
    const { state, metrics } = await run.epochs(5);
    const steps = (await linesOf(run)).slice(1).map(({ metrics: { 'env/steps': done } }) => done);
    expect(steps).toEqual([0, 0, 0, 0, 0]);
    expect(metrics['pool/env_size']).toBe(0);
    expect(await run.dependencies.store.json<HistoryRecord>(state.history)).not.toHaveProperty('starved');
  });

  it('ends after `starvedAfter` epochs: the nearest quarter is let through, and half of the prompts go to the initial simulator', async () => {
    const run = await someRun({ ...strict, 'guards.starvedAfter': 2 }, { success, ...lengths });
    await run.epochs(4);
    const lines = (await linesOf(run)).slice(1);
    expect(lines.map(({ metrics }) => metrics['env/starved_epochs'])).toEqual([1, 2, 0, 1]);
    // A starved epoch has no record of its own to train on.
    expect(lines.map(({ metrics }) => metrics['env/steps']! > 0)).toEqual([false, false, true, false]);
    const initial = await Promise.all(
      [2, 3, 4].map(
        async (epoch) =>
          (await tasksOf(run, epoch)).filter(({ simulator }) => simulator === 'initial').length,
      ),
    );
    expect(initial).toEqual([0, 8, 0]);
    expect(
      (await run.records<{ kept_for_environment: boolean }>(lines[2]!.outputs.decisions)).filter(
        ({ kept_for_environment }) => kept_for_environment,
      ),
    ).toHaveLength(4);
  });
});

describe('a filter of difficulty', () => {
  it('trains the simulator on what it keeps, though those rewards are all alike', async () => {
    const filter = { type: 'threshold', kMin: 0.1 };
    const run = await someRun({ filter, 'guards.flatRewards': 0.05 }, { success: () => 0.5 });
    const { metrics } = await run.epochs(1);
    const { records } = run.trainer.jobs.find(({ job: { kind } }) => kind === 'rwr')!;
    expect(metrics['env/steps']).toBeGreaterThan(0);
    expect(records.length).toBeGreaterThan(0);
    expect(metrics).not.toHaveProperty('env/starved_epochs', 1);
  });

  it.each([
    ['far from α teach nothing', 0, 0],
    ['at α are preferred to the others', 0.5, 1],
  ])('that keeps a share of any records: those that are alike and %s', async (_, success, updates) => {
    const filter = { type: 'topK', k: 2 };
    const fields = { filter, 'guards.flatRewards': 0.05, 'guards.starvedAfter': 5 };
    const run = await someRun(fields, { success: () => success });
    const { metrics } = await run.epochs(1);
    expect(run.trainer.jobs.filter(({ job: { kind } }) => kind === 'rwr')).toHaveLength(updates);
    expect(metrics['env/starved_epochs']).toBe(1 - updates);
  });

  it.each([[['agent']], [['agent', 'environment']]])(
    'of %s says of each task why it is held back',
    async (appliesTo) => {
      const filter = { type: 'topK', k: 4, appliesTo };
      const mix = { base: 1, history: 0, new: 1 };
      const run = await someRun(
        { filter, 'pools.train.mix': mix },
        { success: (difficulty) => (difficulty <= 4 ? 0.5 : 0), taskLength: () => 8 },
      );
      await run.epochs(1);
      const decisions = await run.records<FilterRecord>((await linesOf(run))[1]!.outputs.decisions);
      const heldBack = decisions.filter(({ kept_for_agent: isKept }) => !isKept);
      expect(heldBack.length).toBeGreaterThan(0);
      for (const { reason } of heldBack) expect(reason).not.toBe('kept');
    },
  );

  it('ranks what the simulator wrote, not the tasks that are replayed', async () => {
    const run = await someRun(
      {
        filter: { type: 'topK', k: 4, appliesTo: ['environment'] },
        'pools.train.mix': { base: 1, history: 0, new: 1 },
      },
      { success: (difficulty) => (difficulty <= 4 ? 0.5 : 0), taskLength: () => 8 },
    );
    await run.epochs(1);
    const decisions = await run.records<{ kept_for_environment: boolean }>(
      (await linesOf(run))[1]!.outputs.decisions,
    );
    expect(decisions.filter(({ kept_for_environment: kept }) => kept)).toHaveLength(4);
  });
});

describe('groups that all fail', () => {
  it('move neither policy: no step of the agent, none of the simulator', async () => {
    const run = await someRun({ 'guards.frozenSamples': 0 }, { success: () => 0 });
    const { state, notes, metrics } = await run.epochs(1);
    expect(state.environment).toEqual(run.prepared.state.environment);
    expect(state.agent.checkpoint).toEqual(run.prepared.state.agent.checkpoint);
    expect(kinds(run)).toEqual(['grpo']);
    expect([
      metrics['env/steps'],
      metrics['env/effective_group_ratio'],
      metrics['env/starved_epochs'],
    ]).toEqual([0, 0, 1]);
    expect(notes).toEqual([
      'agent: no update (empty_batch)',
      'environment: no update (the rewards of its records span less than guards.flatRewards, 0.05)',
    ]);
  });

  it('do move the simulator where nobody looks, though its records are all alike', async () => {
    const run = await someRun(
      { 'guards.flatRewards': null, 'guards.familyCap': null, 'pools.environment.deduplicate': false },
      { success: () => 0 },
    );
    const { state } = await run.epochs(1);
    expect(kinds(run)).toEqual(['grpo', 'rwr']);
    expect(state.environment.checkpoint).not.toEqual(run.prepared.state.environment.checkpoint);
    const weights = run.trainer.jobs.at(-1)!.records.map(({ weight }) => weight);
    expect(new Set(weights.map((weight) => weight.toFixed(6))).size).toBe(1);
  });

  it('are no reason to stop once a single attempt succeeds', async () => {
    const run = await someRun({}, { success: () => 0.04 });
    await run.epochs(1);
    expect((await linesOf(run)).at(-1)!.metrics['env/success_rate']).toBeGreaterThan(0);
    expect(kinds(run)).toEqual(['grpo', 'rwr']);
  });

  it('train the agent only from `minInformativeGroups` on', async () => {
    const few = {
      success: (difficulty: number) => (difficulty === 1 ? 0.5 : 0),
      task: (_: string, random: { int: (n: number) => number }) =>
        random.int(4) === 0 ? 'T:a' : 'T:abcdefgh',
    };
    const run = await someRun({ 'agent.training.minInformativeGroups': 12 }, few);
    const { notes, state } = await run.epochs(1);
    expect(notes).toContain('agent: no update (too_few_informative_groups)');
    expect(state.agent.checkpoint).toEqual(run.prepared.state.agent.checkpoint);
  });
});

describe('a run with nothing to learn from', () => {
  const servers = {
    'a vLLM': {
      type: 'openai',
      baseUrl: 'http://127.0.0.1:1/v1',
      publish: 'vllm-lora',
      returnsTokenIds: true,
    },
    'the embedded server': { type: 'embedded' },
  };
  const on = async (server: keyof typeof servers) => {
    const model = await pretrainedModel();
    return { 'agent.model': model, 'environment.model': model, serving: servers[server] };
  };
  const onVllm = () => on('a vLLM');
  const invalid = { share: 1, texts: ['hello'] };

  it.each(['a vLLM', 'the embedded server'] as const)(
    'starts no trainer and keeps the names of its policies on %s, so that nothing is published',
    async (server) => {
      const run = await someRun(await on(server), { invalid });
      const { state, notes, metrics } = await run.epochs(2);
      expect(kinds(run)).toEqual([]);
      expect(state.agent).toEqual(run.prepared.state.agent);
      expect(state.environment).toEqual(run.prepared.state.environment);
      expect(notes).toEqual(['agent: no update (empty_batch)', 'environment: no update (empty_batch)']);
      expect(metrics).toMatchObject({ steps: 0, 'env/steps': 0, 'env/rwr_records': 0, 'env/kl': null });
    },
  );

  it('says of groups that are too few what the trainer would say', async () => {
    const fields = { ...(await onVllm()), 'agent.training.dropZeroVariance': false };
    const run = await someRun(fields, { success: () => 0 });
    const { state, notes } = await run.epochs(1);
    expect(kinds(run)).toEqual([]);
    expect(state.agent).toEqual(run.prepared.state.agent);
    expect(notes).toContain('agent: no update (too_few_informative_groups)');
  });

  it('trains when there is something to learn', async () => {
    const run = await someRun(await onVllm(), { success: () => 0.5 });
    const { state } = await run.epochs(1);
    expect(kinds(run)).toEqual(['grpo', 'rwr']);
    expect(state.agent.name).toMatch(/^agent@0001-/);
  });

  it('has the ledger that it always had where models are made from scratch: a job, and a name of that epoch', async () => {
    const run = await someRun({}, { invalid });
    const { state } = await run.epochs(1);
    expect(kinds(run)).toEqual(['grpo', 'rwr']);
    expect(state.agent.name).toBe(run.prepared.state.agent.name.replace('@0000', '@0001'));
  });
});

describe('forgetting', () => {
  /** The agent gets better, and loses everything in its third update. */
  const success = (_: number, model: string): number =>
    [0.5, 0.7, 0.8, 0.05, 0.9, 0.9][Number(/@(\d+)/.exec(model)?.[1])] ?? 0.9;
  const anchored = (gateAgent: object | null) => ({
    'guards.gateAgent': gateAgent,
    'world.heldOutPerCell': 20,
    'world.heldOutLengths': [3, 5],
    epochs: 5,
  });

  it('is rolled back to the last agent that passed, with its trainer state, and the run continues from there', async () => {
    const run = await someRun(anchored({ every: 1 }), { success });
    expect(run.prepared.metrics['eval/anchor']).toBeGreaterThan(0.3);
    const three = await run.epochs(3);
    const [, , two] = await linesOf(run);
    expect(three.state.agent).toEqual(two!.outputs.state.agent);
    expect(three.state.agent.name).toMatch(/^agent@0002-/);
    expect(three.metrics).toMatchObject({
      'eval/anchor_rolled_back': 1,
      'eval/anchor_best': two!.metrics['eval/anchor'],
    });
    expect(three.notes.join()).toMatch(
      /agent: rolled back to agent@0002-\w+, since agent@0003-\w+ solves \d+ of \d+ anchor tasks; the best solved \d+/,
    );
    const four = await run.epochs(4, three);
    expect(four.state.agent.name).toMatch(/^agent@0004-/);
    expect(four.metrics['eval/anchor_rolled_back']).toBe(0);
    const grpo = run.trainer.jobs
      .filter(({ job: { kind } }) => kind === 'grpo')
      .map(({ job: { model } }) => JSON.stringify(model));
    expect(grpo[3]).toBe(grpo[2]);
  });

  it('is kept where nobody looks', async () => {
    const run = await someRun(anchored(null), { success });
    const { state, metrics } = await run.epochs(3);
    expect(state.agent.name).toMatch(/^agent@0003-/);
    expect(metrics).not.toHaveProperty('eval/anchor');
    expect(state).not.toHaveProperty('anchor');
  });

  it('between two looks is rolled back to the look before', async () => {
    const run = await someRun(anchored({ every: 3 }), { success });
    expect((await run.epochs(3)).state.agent).toEqual(run.prepared.state.agent);
  });

  it('is measured on tasks that are neither base nor held out, and never shown to the simulator', async () => {
    const run = await someRun(anchored({ every: 1, tasks: 60 }), { success });
    const { state } = await run.epochs(2);
    const specs = async (file: typeof state.base_tasks): Promise<string[]> =>
      (await run.records<{ spec: string }>(file)).map(({ spec }) => spec);
    const anchor = await specs(state.anchor!.tasks);
    expect(anchor).toHaveLength(60);
    const excluded = new Set([...(await specs(state.base_tasks)), ...(await specs(state.held_out))]);
    expect(anchor.filter((spec) => excluded.has(spec))).toEqual([]);
    const prompts = run.server.requests
      .filter(({ model }) => model.startsWith('environment'))
      .flatMap(({ prompt }) => prompt.map(String));
    expect(anchor.filter((spec) => prompts.some((prompt) => prompt.includes(`|${spec}=`)))).toEqual([]);
  });

  it('is not seen in a few answers more or less', async () => {
    const run = await someRun(anchored({ every: 1 }), {
      success: (_, model) => (model.startsWith('agent@0001') ? 0.47 : 0.5),
    });
    expect((await run.epochs(1)).metrics['eval/anchor_rolled_back']).toBe(0);
  });
});
