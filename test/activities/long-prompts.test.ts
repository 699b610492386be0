/** A prompt that is too long for the model's context never ends a run. */
import { describe, expect, it, onTestFinished } from 'vitest';
import { collect } from '../../src/async/streams.ts';
import { parseExperiment } from '../../src/config/parse-experiment.ts';
import type { LedgerEntry } from '../../src/runs/ledger-entry.ts';
import type { FileRef } from '../../src/store/references.ts';
import type {
  RewardRecord,
  ScoreRecord,
  SeedTaskRecord,
  TaskRecord,
  TraceRecord,
  VerdictRecord,
} from '../../src/types/records.ts';
import type { World } from '../../src/worlds/world.ts';
import { withFields } from '../../test-support/experiments.ts';
import { FakeModelServer } from '../../test-support/fake-model-server.ts';
import { fakeToolboxModel } from '../../test-support/fake-toolbox-model.ts';
import { FakeTrainer } from '../../test-support/fake-trainer.ts';
import { begin, createActivities, plainDependencies, plainEpoch } from '../../test-support/plain-epochs.ts';
import { temporaryFolder } from '../store/temporary-folder.ts';
import { pretrainedModel, smallFile } from './some-run.ts';

const contextLength = 80;

/** Tasks whose argument ends with one of the first symbols have a prompt that does not fit. */
const isLong = (spec: string): boolean => /[abc]$/.test(spec);

const servers = {
  embedded: { type: 'embedded' },
  vllm: { type: 'openai', baseUrl: 'http://127.0.0.1:1/v1', publish: 'vllm-lora', returnsTokenIds: true },
};

interface Overrides {
  fields?: Record<string, unknown>;
  world?: (world: World) => World;
}

async function someRun(serving: keyof typeof servers, { fields = {}, world = (own) => own }: Overrides = {}) {
  const home = await temporaryFolder();
  const model = await pretrainedModel();
  const file = withFields(smallFile, {
    ...(serving === 'vllm' && { 'agent.model': model, 'environment.model': model }),
    serving: servers[serving],
    'evaluation.every': 1,
    'pools.train.mix': { base: 1, history: 0, new: 1 },
    ...fields,
  });
  const server = await FakeModelServer.start({
    model: fakeToolboxModel(parseExperiment(file).world),
    contextLength,
    probability: () => 0.5,
    ...(serving === 'vllm' ? { baseModel: { name: 'base' } } : { seedRule: 'embedded' as const }),
  });
  onTestFinished(() => server[Symbol.asyncDispose]());
  const trainer = new FakeTrainer();
  const plain = plainDependencies(home, server.url, trainer);
  const dependencies = {
    ...plain,
    loadWorld: async (settings: Parameters<typeof plain.loadWorld>[0]): Promise<World> => {
      const own = await plain.loadWorld(settings);
      const agentPrompt = (spec: string): string =>
        isLong(spec) ? `${own.agentPrompt(spec)}${'p'.repeat(contextLength)}` : own.agentPrompt(spec);
      return world({ ...own, agentPrompt });
    },
  };
  const activities = createActivities(dependencies);
  const started = begin(activities, 'long', file);
  const records = async <T>(refs: readonly (FileRef | null)[]): Promise<T[]> =>
    (await Promise.all(refs.map((ref) => collect(dependencies.store.records<T>(ref!))))).flat();
  const epoch = async () => {
    const { plan, prepared } = await started;
    const committed = await plainEpoch(activities, plan, prepared);
    const folder = dependencies.runFolder('long');
    const lines = await folder.ledger<LedgerEntry>(plan.run.experiment.sha256).read();
    return { prepared, committed, outputs: lines.at(-1)!.outputs };
  };
  return { server, trainer, records, started, epoch };
}

describe.each(['embedded', 'vllm'] as const)('a task that is too long for the agent (%s)', (serving) => {
  it('is invalid if the simulator wrote it, and is not asked', async () => {
    const run = await someRun(serving);
    const { outputs, committed } = await run.epoch();
    const written = (await run.records<TaskRecord>([outputs.tasks])).filter(({ source }) => source === 'new');
    const long = written.filter(({ sampled }) => isLong(sampled!.text));
    expect(long.length).toBeGreaterThan(0);
    for (const { valid, invalid_reason, spec } of long)
      expect([valid, invalid_reason, spec]).toEqual([false, 'prompt_too_long', null]);
    expect(written.filter(({ valid }) => valid)).toHaveLength(written.length - long.length);
    expect(committed.metrics['env/invalid/prompt_too_long']).toBe(long.length);
  });

  it('has the probability 0 of an answer if it is held out', async () => {
    if (serving === 'vllm') return;
    const run = await someRun(serving, { fields: { 'evaluation.logprob': true } });
    const { prepared } = await run.started;
    const heldOut = await run.records<SeedTaskRecord>([prepared.state.held_out]);
    const fitting = heldOut.filter(({ spec }) => !isLong(spec)).length / heldOut.length;
    expect(fitting).toBeLessThan(1);
    expect(prepared.metrics['eval/heldout_answer_probability']).toBeCloseTo(0.5 * fitting, 9);
    expect(prepared.metrics['eval/heldout_logprob']).toBeCloseTo(Math.log(0.5), 9);
  });

  it('is unanswered if it is a base task: no outcome, nothing to learn, and a note', async () => {
    const run = await someRun(serving);
    const { outputs, committed } = await run.epoch();
    const tasks = await run.records<TaskRecord>([outputs.tasks]);
    const long = new Set(tasks.filter(({ spec }) => spec !== null && isLong(spec)).map(({ id }) => id));
    expect(long.size).toBeGreaterThan(0);
    const traces = await run.records<TraceRecord>(outputs.traces);
    const rewards = await run.records<RewardRecord>([outputs.rewards]);
    expect(rewards.map(({ id }) => id)).toEqual(traces.map(({ id }) => id));
    for (const [index, { task_id, sampled }] of traces.entries()) {
      const isUnanswered = long.has(task_id);
      expect(sampled.finish_reason === 'prompt_too_long').toBe(isUnanswered);
      expect(sampled.token_ids.length === 0).toBe(isUnanswered);
      if (isUnanswered) expect(rewards[index]).toMatchObject({ reward: 0, failure: 'prompt_too_long' });
    }
    const scores = await run.records<ScoreRecord>([outputs.scores]);
    for (const { task_id, attempts, success_rate } of scores)
      if (long.has(task_id)) expect([attempts, success_rate]).toEqual([0, null]);
    expect(committed.metrics['rollouts/errored']).toBe(4 * long.size);
    for (const { records } of run.trainer.jobs.slice(2))
      for (const { mask } of records) expect(mask).toContain(1);
    const note = committed.notes.find((text) =>
      text.startsWith('roll out: tasks too long for the context of'),
    );
    expect([...long].some((id) => note!.includes(id))).toBe(true);
  });

  it('counts as not solved if it is held out, with its reason and a note', async () => {
    const run = await someRun(serving);
    const { prepared, outputs } = await run.epoch();
    const held = await run.records<SeedTaskRecord>([prepared.state.held_out]);
    const long = new Set(held.filter(({ spec }) => isLong(spec)).map(({ id }) => id));
    expect(long.size).toBeGreaterThan(0);
    const verdicts = await run.records<VerdictRecord>(outputs.verdicts);
    expect(verdicts).toHaveLength(held.length);
    for (const { task_id, reward, reason } of verdicts)
      if (long.has(task_id)) expect([reward, reason]).toEqual([0, 'prompt_too_long']);
      else expect(reason).toBeUndefined();
    const notes = prepared.notes.filter((text) => text.startsWith('held-out tasks count as not solved'));
    for (const id of long) expect(notes.join()).toContain(id);
  });
});

it('a simulator that has no room for its prompt writes no task, and the epoch is committed', async () => {
  const run = await someRun('vllm', {
    world: (own) => ({ ...own, environmentPrompt: () => 'e'.repeat(contextLength) }),
  });
  const { committed } = await run.epoch();
  expect(committed.metrics['env/valid_fraction']).toBe(0);
  expect(committed.metrics['env/invalid/prompt_too_long']).toBe(16);
});

describe('a server whose context holds no prompt beside an answer', () => {
  it.each(['agent', 'environment'])(
    'is refused before the run starts, naming the field of the %s',
    async (role) => {
      const run = await someRun('vllm', { fields: { [`${role}.sampling.maxTokens`]: contextLength } });
      await expect(run.started).rejects.toThrow(
        new RegExp(
          `experiment: ${role}.sampling.maxTokens: got 80; the server has a context of 80 tokens for ` +
            `${role}@0000-.*--max-model-len`,
        ),
      );
      expect(run.server.requests).toEqual([]);
    },
  );
});

it('a check of the cold start scores no answer that was never given, and says how many', async () => {
  const run = await someRun('embedded', { fields: { 'guards.coldStart': { tasks: 12, minValid: 0 } } });
  const { prepared } = await run.started;
  expect(prepared.metrics['cold_start/well_formed']).toBe(1);
  expect(prepared.notes[0]).toMatch(/; [1-9]\d* attempts without an answer: their prompts are too long$/);
});
