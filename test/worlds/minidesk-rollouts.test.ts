import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { collect } from '../../src/async/streams.ts';
import { parseExperiment } from '../../src/config/parse-experiment.ts';
import type { LedgerEntry } from '../../src/runs/ledger-entry.ts';
import type { FileRef } from '../../src/store/references.ts';
import type {
  RewardRecord,
  ScoreRecord,
  TaskRecord,
  TraceRecord,
  VerdictRecord,
} from '../../src/types/records.ts';
import { createWorld } from '../../src/worlds/registry.ts';
import { experimentFile, withFields } from '../../test-support/experiments.ts';
import { FakeModelServer } from '../../test-support/fake-model-server.ts';
import type { FakeModel } from '../../test-support/fake-model-server.ts';
import { FakeTrainer } from '../../test-support/fake-trainer.ts';
import { begin, createActivities, plainDependencies, plainEpoch } from '../../test-support/plain-epochs.ts';

const file = withFields(experimentFile('minidesk'), {
  epochs: 2,
  'world.heldOutPerCell': 1,
  'world.baseTasks': 8,
  'environment.promptsPerEpoch': 4,
  'agent.rolloutsPerTask': 4,
  'durability.promptsPerRequest': 4,
  'durability.shards': 2,
  'evaluation.every': 1,
  'agent.model.warmUp.rows': 96,
  'environment.model.warmUp.rows': 64,
});
const spec = 'ar1,bg3|g>2|b@2|t0';
const world = createWorld(parseExperiment(file).world);

/**
 * An agent that looks first and reads where the green one is, errs now and then; a simulator that lies with a
 * given chance.
 */
const player =
  (lies: number): FakeModel =>
  (prompt, random, model) => {
    if (model.startsWith('environment')) {
      if (prompt.startsWith('H')) return spec;
      const [, action = '', facts = ''] = /^[tv]\|(.+)\|(.+)=$/.exec(prompt) ?? [];
      if (random.next() < lies) return 'you have won';
      if (facts === 'ok' || facts === '?') return facts;
      if (facts === 'no') return `no ${action.charAt(1)}`;
      return facts === '-' ? 'none' : facts.replace(/(?<=\d)(?=[a-f])/g, ' ');
    }
    // Character 0 ends an action.
    const turns = prompt.split('\0');
    if (turns.length === 1) return random.next() < 0.8 ? 'fg' : 'd';
    return turns.length === 2 ? `m${/([a-f])\d=$/.exec(turns[1]!)?.[1] ?? 'a'}2` : 'd';
  };

async function someRun(lies = 0, id = 'desk', fields: Record<string, unknown> = {}) {
  const home = await mkdtemp(join(tmpdir(), 'genenv-desk-'));
  onTestFinished(() => rm(home, { recursive: true, force: true }));
  const server = await FakeModelServer.start({ model: player(lies), seedRule: 'embedded' });
  onTestFinished(() => server[Symbol.asyncDispose]());
  const trainer = new FakeTrainer();
  const ports = plainDependencies(home, server.url, trainer);
  const activities = createActivities(ports);
  const { plan, prepared } = await begin(activities, id, withFields(file, fields));
  const records = <T>(refs: readonly FileRef[]) =>
    Promise.all(refs.map((ref) => collect(ports.store.records<T>(ref)))).then((all) => all.flat());
  const folder = ports.runFolder(id);
  const outputs = async () =>
    (await folder.ledger<LedgerEntry>(plan.run.experiment.sha256).read()).at(-1)!.outputs;
  return {
    server,
    trainer,
    activities,
    plan,
    prepared,
    records,
    outputs,
    ledger: () => readFile(folder.ledgerFile, 'utf8'),
  };
}

describe('a rollout of several turns', () => {
  it('is a trace of sampled and read tokens, exactly as they were, turn after turn', async () => {
    const run = await someRun();
    const { metrics } = await plainEpoch(run.activities, run.plan, run.prepared);
    const { traces, tasks } = await run.outputs();
    const rollouts = await run.records<TraceRecord>(traces);
    expect(await run.records<TaskRecord>([tasks!])).toHaveLength(16);
    for (const { sampled, turns = [] } of rollouts) {
      const { prompt_token_ids, token_ids, mask = [], logprobs, text } = sampled;
      expect([mask.length, logprobs.length]).toEqual([token_ids.length, token_ids.length]);
      const transcript = String.fromCharCode(...prompt_token_ids, ...token_ids);
      expect(transcript).toBe(
        world.agentPrompt(spec) +
          turns.map(({ action, observation }) => `${action}\0${observation ?? ''}`).join(''),
      );
      expect(String.fromCharCode(...token_ids.filter((_, index) => mask[index] === 1))).toBe(
        turns.map(({ action }) => `${action}\0`).join(''),
      );
      for (const [index, bit] of mask.entries()) if (bit === 0) expect(logprobs[index]).toBe(0);
      expect(text).toBe(turns.map(({ action }) => action).join('\n'));
      expect(turns.at(-1)).toMatchObject({ wording: null, observation: null });
    }
    const solved = rollouts.filter(({ sampled: { text } }) => text === 'fg\nmb2\nd');
    expect(solved.length).toBeGreaterThan(rollouts.length / 2);
    expect(metrics['env/success_rate']).toBeGreaterThan(0.5);
    expect(metrics['env/inconsistent']).toBe(0);
    expect(metrics['completions/max_length']).toBe(9);
  });

  it('is asked one request a turn, the next continuing from the very tokens of the last', async () => {
    const run = await someRun();
    await plainEpoch(run.activities, run.plan, run.prepared);
    const rollouts = await run.records<TraceRecord>((await run.outputs()).traces);
    const sent = new Set(
      run.server.requests.flatMap(({ prompt }) =>
        prompt.flatMap((part) => (typeof part === 'string' ? [] : [JSON.stringify(part)])),
      ),
    );
    for (const {
      sampled: { prompt_token_ids, token_ids, mask = [] },
      turns = [],
    } of rollouts) {
      const starts = mask.flatMap((bit, index) => (bit === 1 && mask[index - 1] === 0 ? [index] : []));
      expect(starts).toHaveLength(turns.length - 1);
      for (const start of starts)
        expect(sent).toContain(JSON.stringify([...prompt_token_ids, ...token_ids.slice(0, start)]));
    }
    const seeds = run.server.requests.map(({ seed, model, prompt }) =>
      JSON.stringify([seed, model, prompt.length]),
    );
    expect(new Set(seeds).size).toBe(seeds.length);
  });

  it('trains the agent on its actions alone', async () => {
    const run = await someRun();
    await plainEpoch(run.activities, run.plan, run.prepared);
    const job = run.trainer.jobs.find(({ job: { kind } }) => kind === 'grpo')!;
    expect(job.records.length).toBeGreaterThan(0);
    for (const { token_ids, mask, logprobs } of job.records) {
      const learnt = String.fromCharCode(...token_ids.filter((_, index) => mask[index] === 1));
      expect(learnt).toMatch(/^(d\0|fg\0m[ab]2\0d\0)$/);
      for (const [index, bit] of mask.entries()) if (bit === 0) expect(logprobs[index]).toBe(0);
    }
  });

  it('is evaluated in the world’s own words, with no simulator', async () => {
    const { server, activities, plan, prepared, records } = await someRun(1);
    const { state } = prepared;
    const before = server.requests.length;
    const { file: verdicts } = await activities.evaluatePolicy({
      run: plan.run,
      epoch: 1,
      state,
      agent: state.agent,
      shard: 0,
      shards: 1,
    });
    const requests = server.requests.slice(before);
    const read = requests.flatMap(({ prompt }) => prompt.filter((part) => typeof part !== 'string'));
    expect(read.length).toBeGreaterThan(0);
    for (const tokens of read) expect(String.fromCharCode(...tokens)).not.toContain('you have won');
    expect(requests.filter(({ model }) => !model.startsWith('agent'))).toEqual([]);
    expect((await records<VerdictRecord>([verdicts])).length).toBeGreaterThan(0);
  });
});

describe('wordings that are not true', () => {
  it('are replaced, counted, and cost the simulator of its reward', async () => {
    const honest = await someRun(0);
    const liar = await someRun(0.5);
    const truthful = await plainEpoch(honest.activities, honest.plan, honest.prepared);
    const lied = await plainEpoch(liar.activities, liar.plan, liar.prepared);
    expect(lied.metrics['env/inconsistent']).toBeGreaterThan(0.35);
    expect(lied.metrics['env/inconsistent']).toBeLessThan(0.65);
    const outputs = await liar.outputs();
    const rollouts = await liar.records<TraceRecord>(outputs.traces);
    for (const { turns = [] } of rollouts)
      for (const { wording, observation, consistent } of turns) {
        if (observation !== null) expect(observation).toMatch(/^(ok|b3|none)=$/);
        if (observation !== null) expect(consistent).toBe(wording !== 'you have won');
      }
    // The agent never read a lie, so it succeeds as it did.
    expect(Math.abs(lied.metrics['env/success_rate']! - truthful.metrics['env/success_rate']!)).toBeLessThan(
      0.25,
    );
    const scores = await liar.records<ScoreRecord>([outputs.scores!]);
    for (const { task_id, env_reward, success_rate } of scores) {
      const turns = rollouts
        .filter((trace) => trace.task_id === task_id)
        .flatMap((trace) => trace.turns ?? [])
        .filter(({ wording }) => wording !== null);
      const fidelity =
        turns.length === 0 ? 1 : turns.filter(({ consistent }) => consistent).length / turns.length;
      expect(env_reward).toBeCloseTo(Math.exp(-8 * (success_rate! - 0.5) ** 2) * fidelity, 12);
    }
  });
});

describe('a rollout that was interrupted', () => {
  it('continues from the last answered turn, and ends as if it had not been', async () => {
    const plain = await someRun(0.3, 'one');
    await plainEpoch(plain.activities, plain.plan, plain.prepared);
    const broken = await someRun(0.3, 'two');
    const { run, settings } = broken.plan;
    const state = broken.prepared.state;
    const generated = await Promise.all(
      [0, 1].map((shard) =>
        broken.activities.generateTasks({ run, epoch: 1, state, shard, shards: settings.shards.generate }),
      ),
    );
    const tasks = await broken.activities.drawTasks({
      run,
      epoch: 1,
      state,
      generated: generated.slice(0, settings.shards.generate).map((shard) => shard.file),
    });
    const input = { run, epoch: 1, state, tasks, shard: 0, shards: settings.shards.rollOut };
    const before = broken.server.requests.length;
    // The fourth request meets a dead server: three turns are on disk.
    broken.server.nextFaults.push(undefined, undefined, undefined, 'server error');
    await expect(broken.activities.rollOut(input)).rejects.toThrow();
    const first = broken.server.requests.slice(before);
    await broken.activities.rollOut(input);
    const second = broken.server.requests.slice(before + first.length);
    expect(first).toHaveLength(4);
    // Only what was missing is asked again, exactly as it was.
    expect(second[0]).toEqual(first[3]);
    for (const request of first.slice(0, 3)) expect(second).not.toContainEqual(request);
    await plainEpoch(broken.activities, broken.plan, broken.prepared);
    expect(await broken.ledger()).toBe(await plain.ledger());
  });
});

it('scores by replaying the actions, twice the same', async () => {
  const run = await someRun();
  await plainEpoch(run.activities, run.plan, run.prepared);
  const rewards = await run.records<RewardRecord>([(await run.outputs()).rewards!]);
  for (const { answer, reward, second_reward } of rewards)
    expect([reward, second_reward]).toEqual([world.score(spec, answer).reward, reward]);
});
