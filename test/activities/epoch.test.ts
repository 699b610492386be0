import { readFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import type { LedgerEntry } from '../../src/runs/ledger-entry.ts';
import type { CommittedEpoch } from '../../src/types/activity-types.ts';
import type {
  RewardRecord,
  ScoreRecord,
  TaskRecord,
  TraceRecord,
  VerdictRecord,
} from '../../src/types/records.ts';
import { filesIn } from '../store/temporary-folder.ts';
import { plainEpoch } from '../../test-support/plain-epochs.ts';
import { someRun } from './some-run.ts';
import type { SomeRun } from './some-run.ts';

async function lastLine({ dependencies, plan }: SomeRun): Promise<LedgerEntry> {
  const lines = await dependencies
    .runFolder(plan.run.id)
    .ledger<LedgerEntry>(plan.run.experiment.sha256)
    .read();
  const last = lines.at(-1);
  if (last === undefined) throw new Error('the ledger is empty');
  return last;
}

const ledgerOf = ({ dependencies, plan }: SomeRun): Promise<string> =>
  readFile(dependencies.runFolder(plan.run.id).ledgerFile, 'utf8');

describe('an epoch in a plain loop', () => {
  it('leaves tasks, traces, rewards and scores that agree with each other', async () => {
    const run = await someRun();
    const { epoch, metrics } = await run.epochs(1);
    expect(epoch).toBe(1);
    const { outputs } = await lastLine(run);
    const tasks = await run.records<TaskRecord>(outputs.tasks);
    const traces = (await Promise.all(outputs.traces.map((file) => run.records<TraceRecord>(file)))).flat();
    const rewards = await run.records<RewardRecord>(outputs.rewards);
    const scores = await run.records<ScoreRecord>(outputs.scores);
    expect(tasks.map(({ id }) => id)).toEqual(
      Array.from({ length: 16 }, (_, index) => `epoch-0001/task-${String(index).padStart(2, '0')}`),
    );
    expect(traces.filter(({ role }) => role === 'agent')).toHaveLength(64);
    expect(traces.filter(({ role }) => role === 'frozen')).toHaveLength(16);
    expect(rewards.map(({ id }) => id)).toEqual(traces.map(({ id }) => id));
    for (const { task_id, attempts, successes, success_rate, env_reward } of scores) {
      const group = rewards.filter((reward) => reward.task_id === task_id && reward.role === 'agent');
      expect([attempts, successes, success_rate]).toEqual([
        4,
        group.filter(({ reward }) => reward === 1).length,
        successes / 4,
      ]);
      expect(env_reward).toBeCloseTo(Math.exp(-8 * (successes / 4 - 0.5) ** 2), 12);
      expect(group.reduce((sum, { advantage }) => sum + advantage, 0)).toBeCloseTo(0, 12);
    }
    expect(metrics['env/success_rate']).toBeCloseTo(
      scores.reduce((sum, { success_rate }) => sum + (success_rate ?? 0), 0) / 16,
      12,
    );
    expect(metrics['rollouts/count']).toBe(64);
  });

  it('counts the tokens sampled since the start', async () => {
    const run = await someRun();
    const first = await run.epochs(1);
    const second = await run.epochs(2, first);
    const { outputs } = await lastLine(run);
    const sampled = [
      ...(await run.records<TaskRecord>(outputs.tasks)).map((task) => task.sampled),
      ...(await Promise.all(outputs.traces.map((file) => run.records<TraceRecord>(file))))
        .flat()
        .map((trace) => trace.sampled),
    ];
    const tokens = sampled.reduce((sum, sample) => sum + (sample?.token_ids.length ?? 0), 0);
    expect(second.state.tokens - first.state.tokens).toBe(tokens);
    expect(second.metrics.num_tokens).toBe(second.state.tokens);
  });

  it('counts the tokens that its servers read and sampled, held-out evaluation’s too, beside the ledger', async () => {
    const run = await someRun({ 'evaluation.every': 1 });
    const before = run.server.requests.length;
    const { metrics, state } = await run.epochs(1);
    // A character is a token of this server; one that ends a text comes on top.
    const prompts = run.server.requests.slice(before).flatMap(({ prompt }) => prompt as string[]);
    const { outputs } = await lastLine(run);
    const verdicts = (
      await Promise.all(outputs.verdicts.map((file) => run.records<VerdictRecord>(file)))
    ).flat();
    const folder = run.dependencies.runFolder(run.plan.run.id);
    const last = await folder.lastMetrics();
    expect(verdicts.length).toBeGreaterThan(0);
    expect(last?.metrics).toEqual({
      ...metrics,
      'rollouts/retried': 0,
      'usage/prompt_tokens': prompts.reduce((sum, { length }) => sum + length, 0),
      'usage/completion_tokens':
        state.tokens + verdicts.reduce((sum, { answer }) => sum + answer.length + 1, 0),
    });
    expect(Object.keys((await lastLine(run)).metrics).filter((name) => name.startsWith('usage/'))).toEqual(
      [],
    );
  });

  it('says nothing of its tokens if a phase was recorded by a version that did not count prompts', async () => {
    const run = await someRun();
    const { activities } = run;
    const old: typeof activities = {
      ...activities,
      rollOut: async (input) => {
        const { promptTokens, ...recorded } = await activities.rollOut(input);
        expect(promptTokens).toBeGreaterThan(0);
        return recorded;
      },
    };
    await plainEpoch(old, run.plan, run.prepared);
    const last = await run.dependencies.runFolder(run.plan.run.id).lastMetrics();
    expect(last?.epoch).toBe(1);
    expect(Object.keys(last?.metrics ?? {}).filter((name) => name.startsWith('usage/'))).toEqual([]);
  });

  it('trains the agent on whole groups with signal, exactly as they were sampled', async () => {
    const run = await someRun({}, { success: () => 0.5 });
    await run.epochs(1);
    const { outputs } = await lastLine(run);
    const informative = (await run.records<ScoreRecord>(outputs.scores))
      .filter((score) => score.informative)
      .map(({ task_id }) => task_id);
    const traces = (await Promise.all(outputs.traces.map((file) => run.records<TraceRecord>(file))))
      .flat()
      .filter(({ role, task_id }) => role === 'agent' && informative.includes(task_id));
    const job = run.trainer.jobs.find(({ job: { kind } }) => kind === 'grpo');
    expect(informative.length).toBeGreaterThan(4);
    expect(
      job?.records.map(({ token_ids, mask, logprobs, group_id }) => ({
        token_ids,
        mask,
        logprobs,
        group_id,
      })),
    ).toEqual(
      traces.map(({ task_id, sampled: { prompt_token_ids, token_ids, logprobs } }) => ({
        token_ids: [...prompt_token_ids, ...token_ids],
        mask: [...prompt_token_ids.map(() => 0), ...token_ids.map(() => 1)],
        logprobs: [...prompt_token_ids.map(() => 0), ...logprobs],
        group_id: task_id,
      })),
    );
  });

  it('reports exactly the metrics that docs/artifacts.md names', async () => {
    const run = await someRun({ 'evaluation.every': 1 }, { invalid: { share: 0.2, texts: ['', 'what?'] } });
    const { metrics } = await run.epochs(1);
    const doc = await readFile(new URL('../../docs/artifacts.md', import.meta.url), 'utf8');
    const named = [...doc.slice(doc.indexOf('## Metrics')).matchAll(/^\| (.*?) \|/gm)].flatMap(
      ([, cell = '']) => [...cell.matchAll(/`([^`]+)`/g)].map(([, name = '']) => name),
    );
    const patterns = named.map(
      (name) =>
        new RegExp(`^${name.replaceAll(/[.+?^${}()|[\]\\/]/g, '\\$&').replaceAll(/<\w+>|\*/g, '[^/]+')}$`),
    );
    expect(Object.keys(metrics).filter((name) => !patterns.some((pattern) => pattern.test(name)))).toEqual(
      [],
    );
    const always = named.filter(
      (name) =>
        !/^((env\/)?step_(kl|share)$|env\/(worded$|(invalid|filtered|rate_tenths|rate_tenths_kept)\/|(inconsistent|repairs|label_votes|labels_unconfirmed|labels_disputed)$)|eval\/(anchor|pass_at|heldout_(probability|logprob|answer_probability))|pool\/(written|size|dropped|screening_success_rate|success_rate)|rollouts\/(rounds|informative_groups))/.test(
          name,
        ),
    );
    expect(
      always.filter((name) => !Object.keys(metrics).some((key) => patterns[named.indexOf(name)]?.test(key))),
    ).toEqual([]);
  });

  it('says that the same phase on the same inputs is done: equal references, and nothing asked or trained again', async () => {
    const run = await someRun();
    const first = await run.epochs(2);
    const requests = run.server.requests.length;
    const jobs = run.trainer.jobs.length;
    const ledger = await ledgerOf(run);
    const repeated: CommittedEpoch = await run.epochs(2);
    expect(repeated).toEqual(first);
    expect([run.server.requests.length, run.trainer.jobs.length]).toEqual([requests, jobs]);
    expect(await ledgerOf(run)).toBe(ledger);
  });

  it('leaves no unfinished work behind', async () => {
    const run = await someRun();
    await run.epochs(2);
    expect((await filesIn(run.home)).filter((name) => name.startsWith('store/work/'))).toEqual([]);
  });

  it('gives equal ledgers, byte for byte, for equal runs under other names', async () => {
    const [left, right] = [await someRun({}, {}, 'one'), await someRun({}, {}, 'two')];
    await Promise.all([left.epochs(3), right.epochs(3)]);
    expect(await ledgerOf(left)).toBe(await ledgerOf(right));
    const otherSeed = await someRun({ seed: 1 });
    await otherSeed.epochs(1);
    expect((await ledgerOf(otherSeed)).split('\n')[1]).not.toBe((await ledgerOf(left)).split('\n')[1]);
  });
});

describe('frozen policies of a server that nothing is published to', () => {
  it('are asked under the names of the file, and stay as they are', async () => {
    const serving = {
      type: 'openai',
      baseUrl: 'http://127.0.0.1:8000/v1',
      publish: 'none',
      returnsTokenIds: true,
      models: { agent: 'agent-7b', environment: 'environment-7b' },
    };
    const run = await someRun({ arm: { type: 'random' }, 'agent.training': null, serving });
    const { state } = await run.epochs(1);
    expect(state.agent).toEqual({ name: 'agent-7b', checkpoint: null, trainer_state: null });
    expect(new Set(run.server.requests.map(({ model }) => model))).toEqual(
      new Set(['agent-7b', 'environment-7b']),
    );
    expect(run.trainer.jobs).toEqual([]);
  });
});

describe('the tasks of an epoch', () => {
  it('are drawn from base, history and new in the stated mix, and all rolled out', async () => {
    const run = await someRun({ 'pools.train.mix': { base: 1, history: 1, new: 2 } });
    await run.epochs(1);
    const first = await run.records<TaskRecord>((await lastLine(run)).outputs.tasks);
    await run.epochs(2);
    const { outputs } = await lastLine(run);
    const tasks = await run.records<TaskRecord>(outputs.tasks);
    const count = (source: string) => tasks.filter((task) => task.source === source).length;
    expect([count('new'), count('base'), count('history')]).toEqual([16, 8, 8]);
    const earlier = new Set(first.filter(({ source }) => source === 'new').map(({ spec }) => spec));
    expect(tasks.filter(({ source }) => source === 'history').every(({ spec }) => earlier.has(spec))).toBe(
      true,
    );
    const scores = await run.records<ScoreRecord>(outputs.scores);
    expect(scores.map(({ attempts }) => attempts)).toEqual(tasks.map(() => 4));
    // The simulator learns from its own tasks alone.
    expect(
      run.trainer.jobs
        .findLast(({ job }) => job.kind === 'rwr')
        ?.records.every(
          ({ group_id }) =>
            tasks.some(({ id, source }) => id === group_id && source === 'new') ||
            first.some(({ id }) => id === group_id),
        ),
    ).toBe(true);
  });

  it('keep the history that the simulator was told, and the history changes what it is told', async () => {
    const run = await someRun({}, { success: () => 1 });
    const first = await run.epochs(1);
    const before = await run.records<TaskRecord>((await lastLine(run)).outputs.tasks);
    await run.epochs(2, first);
    const after = await run.records<TaskRecord>((await lastLine(run)).outputs.tasks);
    expect(before.every(({ history_success }) => history_success === null)).toBe(true);
    expect(
      after.every(({ history_success, context }) => history_success === 1 && context.startsWith('H9')),
    ).toBe(true);
    const prompts = run.server.requests
      .filter(({ model }) => model.startsWith('environment'))
      .flatMap(({ prompt }) => prompt as string[]);
    for (const { context } of [...before, ...after]) expect(prompts).toContain(context);
    expect(before.map(({ context }) => context)).not.toContain(after[0]?.context);
  });

  it('come in part from the initial simulator', async () => {
    const run = await someRun({ 'environment.initialShare': 0.25 });
    await run.epochs(2);
    const tasks = await run.records<TaskRecord>((await lastLine(run)).outputs.tasks);
    expect(tasks.filter(({ simulator }) => simulator === 'initial')).toHaveLength(4);
    for (const { simulator, sampled } of tasks)
      expect(sampled?.policy_version.startsWith('environment@0000')).toBe(simulator === 'initial');
  });

  it('keep the order of their indexes beyond a hundred', async () => {
    const run = await someRun({ 'environment.promptsPerEpoch': 13, 'environment.variationsPerPrompt': 8 });
    await run.epochs(1);
    const tasks = await run.records<TaskRecord>((await lastLine(run)).outputs.tasks);
    expect(tasks.map(({ id }) => Number(id.split('-').at(-1)))).toEqual(
      Array.from({ length: 104 }, (_, index) => index),
    );
  });
});
