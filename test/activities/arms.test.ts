import { createHash } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parseExperiment } from '../../src/config/parse-experiment.ts';
import { mean } from '../../src/numerics/arithmetic.ts';
import type { LedgerEntry } from '../../src/runs/ledger-entry.ts';
import { estimateResources } from '../../src/runs/resource-estimate.ts';
import { workflowSettings } from '../../src/runs/settings-in-effect.ts';
import type { CommittedEpoch } from '../../src/types/activity-types.ts';
import type { HistoryRecord, SeedTaskRecord, TaskRecord, TraceRecord } from '../../src/types/records.ts';
import { createWorld } from '../../src/worlds/registry.ts';
import { withFields } from '../../test-support/experiments.ts';
import { temporaryFolder } from '../store/temporary-folder.ts';
import { smallFile, someRun } from './some-run.ts';
import type { SomeRun } from './some-run.ts';

const arm = (type: string, rest: Record<string, unknown> = {}) => ({ arm: { type, ...rest } });

async function lines({ dependencies, plan }: SomeRun): Promise<LedgerEntry[]> {
  return (await dependencies.runFolder(plan.run.id).open<LedgerEntry>())!.ledger.read();
}

async function tasksOf(run: SomeRun, epoch: number): Promise<TaskRecord[]> {
  return run.records<TaskRecord>((await lines(run)).find((line) => line.epoch === epoch)!.outputs.tasks);
}

const specsOf = async (run: SomeRun, epoch: number): Promise<(string | null)[]> =>
  (await tasksOf(run, epoch)).map(({ spec }) => spec);
const poolOf = (run: SomeRun, { state }: CommittedEpoch): Promise<SeedTaskRecord[]> =>
  run.records<SeedTaskRecord>(state.task_pool ?? null);
const requestsTo = ({ server }: SomeRun, role: string) =>
  server.requests.filter(({ model }) => model.startsWith(role));

describe('the arm `static`', () => {
  it('writes the base tasks and five variations of each, once, and draws each before any again', async () => {
    const run = await someRun(arm('static'), { invalid: { share: 0.1, texts: ['', 'T:', 'what?'] } });
    const base = (await run.records<SeedTaskRecord>(run.prepared.state.base_tasks)).map(({ spec }) => spec);
    const pool = (await poolOf(run, run.prepared)).map(({ spec }) => spec);
    expect(base).toHaveLength(12);
    expect(pool.slice(0, 12)).toEqual(base);
    expect(pool.length).toBeGreaterThan(12 + 40);
    expect(run.prepared.metrics['pool/written']).toBe(60);
    const dropped = Object.entries(run.prepared.metrics)
      .filter(([name]) => name.startsWith('pool/dropped/'))
      .reduce((sum, [, count]) => sum + (count ?? 0), 0);
    expect(pool.length - 12).toBe(60 - dropped);
    const requests = requestsTo(run, 'environment');
    expect(requests.map(({ n }) => n)).toEqual(requests.map(() => 5));
    expect(run.prepared.state.tokens).toBeGreaterThan(0);
    await run.epochs(3);
    expect(requestsTo(run, 'environment')).toEqual(requests);
    const drawn = [...(await specsOf(run, 1)), ...(await specsOf(run, 2)), ...(await specsOf(run, 3))];
    expect(drawn).toHaveLength(48);
    expect(new Set(drawn.map((spec) => pool.indexOf(spec!))).size).toBe(new Set(drawn).size);
    expect(new Set(drawn).size).toBe(48);
    expect(run.trainer.jobs.map(({ job: { kind } }) => kind).filter((kind) => kind !== 'supervised')).toEqual(
      ['grpo', 'grpo', 'grpo'],
    );
  });

  it('gives the agent as many attempts as the other arms', async () => {
    const counts = await Promise.all(
      ['static', 'window', 'random'].map(
        async (type) => (await (await someRun(arm(type))).epochs(1)).metrics['rollouts/count'],
      ),
    );
    expect(counts).toEqual([64, 64, 64]);
  });

  it('writes nothing a second time', async () => {
    const run = await someRun(arm('static'));
    const requests = run.server.requests.length;
    const { task_pool, ...prepared } = run.prepared.state;
    const state = { ...prepared };
    delete state.anchor;
    const same = await run.again().writePool({ run: run.plan.run, epoch: 0, state: { ...state, tokens: 0 } });
    expect(same.pool).toEqual(task_pool);
    expect(run.server.requests.length).toBe(requests);
  });
});

describe('the arm `offline`', () => {
  const source = { type: 'model', baseUrl: 'http://127.0.0.1:1/v1', model: 'any-model' };
  const lengthOf = (messages: { content: string }[]): number =>
    Number(/Write (\d+) new/.exec(messages[1]!.content)![1]);

  it.each([2, 4])(
    'asks any model for %i times the base tasks, and keeps the valid ones',
    async (multiple) => {
      const run = await someRun(arm('offline', { multiple, source }), {}, 'some-run', (messages, random) =>
        Array.from({ length: lengthOf(messages) }, (_, index) =>
          index === 0 && random.int(3) === 0
            ? '1. a task'
            : `T:${Array.from({ length: 6 }, () => random.pick([...'abcdefghi'])).join('')}`,
        ).join('\n'),
      );
      expect(run.server.chats).toHaveLength(12);
      expect(run.server.chats[0]).toMatchObject({ model: 'any-model' });
      const base = await run.records<SeedTaskRecord>(run.prepared.state.base_tasks);
      for (const [index, { messages }] of run.server.chats.entries())
        expect(messages[1]!.content.endsWith(`as variations of:\n${base[index]!.spec}`)).toBe(true);
      const { metrics } = run.prepared;
      expect(metrics['pool/written']).toBe(12 * multiple);
      expect(metrics['pool/dropped/unparsable']).toBeGreaterThan(0);
      expect((await poolOf(run, run.prepared)).length).toBe(
        12 * multiple - (metrics['pool/dropped/unparsable'] ?? 0) - (metrics['pool/dropped/repeat'] ?? 0),
      );
      await run.epochs(2);
      expect(requestsTo(run, 'environment')).toEqual([]);
      const pool = new Set((await poolOf(run, run.prepared)).map(({ spec }) => spec));
      expect([...(await specsOf(run, 1)), ...(await specsOf(run, 2))].every((spec) => pool.has(spec!))).toBe(
        true,
      );
    },
  );

  it.each([2, 4])('draws %i times the base tasks by code, once, without a model', async (multiple) => {
    const run = await someRun(arm('offline', { multiple, source: { type: 'code' } }));
    const { metrics, state } = run.prepared;
    const pool = (await poolOf(run, run.prepared)).map(({ spec }) => spec);
    const heldOut = await run.records<SeedTaskRecord>(state.held_out);
    expect(metrics['pool/written']).toBe(12 * multiple);
    expect(pool.length).toBe(
      12 * multiple - (metrics['pool/dropped/held_out'] ?? 0) - (metrics['pool/dropped/repeat'] ?? 0),
    );
    expect(heldOut.some(({ spec }) => pool.includes(spec))).toBe(false);
    expect(state.tokens).toBe(0);
    await run.epochs(2);
    expect(
      [...(await specsOf(run, 1)), ...(await specsOf(run, 2))].every((spec) => pool.includes(spec!)),
    ).toBe(true);
    expect(requestsTo(run, 'environment')).toEqual([]);
    expect(run.plan.settings.arm).toBe(`offline-${multiple}x-code`);
  });

  it('takes a file, without repeats, held-out tasks and what is no task', async () => {
    const path = join(await temporaryFolder(), 'tasks.jsonl');
    const heldOut = await (
      await someRun()
    ).records<SeedTaskRecord>((await someRun()).prepared.state.held_out);
    const specs = ['T:abcab', 'U:abc', 'T:abcab', 'Z:abc', heldOut[0]!.spec, 'U:hhhh'];
    await writeFile(path, specs.map((spec) => `${JSON.stringify({ spec })}\n`).join(''));
    const sha256 = createHash('sha256')
      .update(await readFile(path))
      .digest('hex');
    const run = await someRun(arm('offline', { source: { type: 'file', path, sha256 } }));
    expect((await poolOf(run, run.prepared)).map(({ spec }) => spec)).toEqual(['T:abcab', 'U:abc', 'U:hhhh']);
    expect(run.prepared.metrics).toMatchObject({
      'pool/written': 6,
      'pool/size': 3,
      'pool/dropped/repeat': 1,
      'pool/dropped/unknown_tool': 1,
      'pool/dropped/held_out': 1,
    });
    // A set smaller than an epoch is gone through again and again.
    await run.epochs(1);
    expect((await specsOf(run, 1)).slice(0, 3).toSorted()).toEqual(['T:abcab', 'U:abc', 'U:hhhh']);
    await expect(
      someRun(arm('offline', { source: { type: 'file', path, sha256: 'a'.repeat(64) } })),
    ).rejects.toThrow(/^experiment: arm\.source\.sha256: got a{64}; .*tasks\.jsonl has another$/);
    await expect(someRun(arm('offline', { source: { type: 'file', path: `${path}x` } }))).rejects.toThrow(
      /^experiment: arm\.source\.path: got ".*tasks\.jsonlx"; it does not exist$/,
    );
    await writeFile(path, '{"spec":"T:abc"}\n{"task":"T:abc"}\n');
    await expect(someRun(arm('offline', { source: { type: 'file', path } }))).rejects.toThrow(
      /line 2: it is not \{"spec": "…"\}$/,
    );
  });
});

describe('the arm `selection`', () => {
  // The agent solves what is short and fails at what is long; 4 is about half.
  const success = (difficulty: number): number => (1 - Math.sign(difficulty - 4)) / 2;

  it('rolls out a quarter of the candidates: at random at first, then those about to be solved half of the time', async () => {
    const run = await someRun(arm('selection'), { success });
    const { metrics } = await run.epochs(4);
    expect(requestsTo(run, 'environment').every(({ n }) => n === 16)).toBe(true);
    expect(metrics['rollouts/count']).toBe(64);
    const lengths = async (epoch: number) => (await tasksOf(run, epoch)).map(({ difficulty }) => difficulty);
    const far = async (epoch: number) => mean((await lengths(epoch)).map((length) => Math.abs(length - 4)))!;
    expect(await far(1)).toBeGreaterThan(1.5);
    expect(await far(4)).toBeLessThan(0.7);
    expect(metrics['env/success_rate']).toBeGreaterThan(0.3);
    const ids = (await tasksOf(run, 4)).map(({ id }) => id);
    expect(ids).toHaveLength(16);
    expect(ids).toEqual(ids.toSorted());
    expect(run.trainer.jobs.some(({ job: { kind } }) => kind === 'rwr')).toBe(false);
  });

  it('finds them from their texts alone, and is named so', async () => {
    // All tasks are as difficult; those with an "a" are solved half of the time, no others: three in eight.
    const run = await someRun(arm('selection', { predictor: 'text' }), {
      taskLength: () => 4,
      success: (_difficulty, _model, spec) => (spec.includes('a') ? 0.5 : 0),
    });
    const last = await run.epochs(5);
    const shareWithA = async (epoch: number) =>
      mean((await specsOf(run, epoch)).map((spec) => (spec!.includes('a') ? 1 : 0)))!;
    expect(await shareWithA(1)).toBeLessThan(0.6);
    expect(await shareWithA(5)).toBeGreaterThan(0.8);
    expect(run.plan.settings.arm).toBe('selection-text');
    const { outcomes = [] } = await run.dependencies.store.json<HistoryRecord>(last.state.history);
    expect(outcomes.every(({ text, difficulty }) => text?.length === difficulty + 2)).toBe(true);
  });

  it('counts what its candidates cost', () => {
    const estimateOf = (type: string) => {
      const experiment = parseExperiment(withFields(smallFile, arm(type)));
      return estimateResources(experiment, createWorld(experiment.world));
    };
    expect(estimateOf('selection').rollouts).toBe(estimateOf('random').rollouts);
    expect(estimateOf('selection').tokens - estimateOf('random').tokens).toBe(5 * 16 * 3 * 30);
    expect(estimateOf('window').tokens).toBe(estimateOf('random').tokens - 5 * 16 * 30);
    expect(estimateOf('static').tokens).toBe(estimateOf('window').tokens + 12 * 5 * 30);
  });
});

describe('the arm `window`', () => {
  it('opens the next level where nine in ten attempts at the hardest succeed, and keeps four', async () => {
    const run = await someRun(
      { ...arm('window', { minAttempts: 16 }), epochs: 12 },
      { success: (difficulty) => (difficulty <= 5 ? 1 : 0) },
    );
    const last = await run.epochs(10);
    const hardest = await Promise.all(
      Array.from({ length: 10 }, async (_, index) =>
        Math.max(...(await tasksOf(run, index + 1)).map(({ difficulty }) => difficulty)),
      ),
    );
    expect(hardest).toEqual([1, 2, 3, 4, 5, 6, 6, 6, 6, 6]);
    expect(new Set((await tasksOf(run, 6)).map(({ difficulty }) => difficulty))).toEqual(
      new Set([3, 4, 5, 6]),
    );
    expect(requestsTo(run, 'environment')).toEqual([]);
    expect((await run.dependencies.store.json<HistoryRecord>(last.state.history)).window?.hardest).toBe(6);
  });
});

describe('the arm `window` at a target success', () => {
  it('keeps the hardest level at it: down again when success falls below `lowerAt`', async () => {
    const run = await someRun(
      { ...arm('window', { minAttempts: 16, raiseAt: 0.5, lowerAt: 0.3, levels: 1 }), epochs: 12 },
      { success: (difficulty) => (difficulty <= 4 ? 1 : 0) },
    );
    await run.epochs(8);
    const hardest = await Promise.all(
      Array.from({ length: 8 }, async (_, index) =>
        Math.max(...(await tasksOf(run, index + 1)).map(({ difficulty }) => difficulty)),
      ),
    );
    expect(hardest).toEqual([1, 2, 3, 4, 5, 4, 5, 4]);
  });

  it('is refused if it would rise and fall at once', () => {
    const file = withFields(smallFile, arm('window', { raiseAt: 0.5, lowerAt: 0.5 }));
    expect(() => parseExperiment(file)).toThrow(
      'experiment: arm.lowerAt: got 0.5; expected less than arm.raiseAt (0.5)',
    );
  });
});

describe('the arm `uniform`', () => {
  it('draws fresh tasks of the held-out cells by code, none of them held out', async () => {
    const run = await someRun(arm('uniform'));
    await run.epochs(3);
    const heldOut = await run.records<SeedTaskRecord>(run.prepared.state.held_out);
    const drawn = (await Promise.all([1, 2, 3].map((epoch) => tasksOf(run, epoch)))).flat();
    expect(drawn).toHaveLength(48);
    expect(new Set(drawn.map(({ difficulty }) => difficulty))).toEqual(new Set([1, 2, 3]));
    expect(new Set(drawn.map(({ kind }) => kind))).toEqual(new Set(['T', 'U']));
    expect(
      drawn.every(({ spec, sampled }) => sampled === null && !heldOut.some((task) => task.spec === spec)),
    ).toBe(true);
    expect(await specsOf(run, 1)).not.toEqual(await specsOf(run, 2));
    expect(requestsTo(run, 'environment')).toEqual([]);
  });

  it.each([
    [arm('uniform'), 'uniformTask', 'arm.type: got "uniform"; the world "toolbox" cannot draw tasks by code'],
    [
      arm('offline', { source: { type: 'code' } }),
      'uniformTask',
      'arm.source.type: got "code"; the world "toolbox" cannot draw tasks by code',
    ],
    [arm('oracle'), 'taskAt', 'arm.type: got "oracle"; the world "toolbox" cannot make a task of a given'],
  ] as const)('%j needs a world that can', (fields, method, problem) => {
    const experiment = parseExperiment(withFields(smallFile, fields));
    const world = createWorld(experiment.world);
    expect(workflowSettings(experiment, world).shards.generate).toBe(0);
    Reflect.deleteProperty(world, method);
    expect(() => workflowSettings(experiment, world)).toThrow(`experiment: ${problem}`);
  });
});

describe('the arm `oracle`', () => {
  it('keeps success at α', async () => {
    const run = await someRun(
      { ...arm('oracle'), epochs: 12 },
      { success: (difficulty) => 0.85 ** difficulty },
    );
    await run.epochs(12);
    const committed = (await lines(run)).slice(-6);
    expect(mean(committed.map(({ metrics }) => metrics['env/success_rate']!))).toBeCloseTo(0.5, 1);
    // By hand: 0.85^d = 1/2 at d = 4.3.
    expect(mean(committed.map(({ metrics }) => metrics['env/difficulty']!))).toBeGreaterThan(3);
    expect(mean(committed.map(({ metrics }) => metrics['env/difficulty']!))).toBeLessThan(6);
    expect(requestsTo(run, 'environment')).toEqual([]);
  });
});

describe('the arm `evolved`', () => {
  it('varies the tasks nearest to α in place of the base tasks', async () => {
    // The frozen simulator writes up to two symbols fewer, or one more, than the task that it varies has.
    const seedOf = (prompt: string): string => /[TU]:[a-i]+/.exec(prompt)![0];
    const run = await someRun(
      {
        ...arm('evolved', { parents: 8 }),
        epochs: 6,
        'world.baseLengths': [8, 8],
        'world.maxLength': 12,
        'environment.promptsPerEpoch': 8,
        'agent.rolloutsPerTask': 8,
      },
      {
        success: (difficulty) => 0.8 ** difficulty,
        task: (prompt, random) => {
          const [tool, symbols] = seedOf(prompt).split(':') as [string, string];
          const length = Math.max(1, symbols.length + random.int(4) - 2);
          return `${tool}:${Array.from({ length }, () => random.pick([...'abcdefghi'])).join('')}`;
        },
      },
    );
    await run.epochs(6);
    const varied = async (epoch: number) =>
      (await tasksOf(run, epoch)).map(({ context, simulator }) => ({ seed: seedOf(context), simulator }));
    const base = new Set(
      (await run.records<SeedTaskRecord>(run.prepared.state.base_tasks)).map(({ spec }) => spec),
    );
    expect((await varied(1)).every(({ seed }) => base.has(seed))).toBe(true);
    const written = new Set((await Promise.all([1, 2, 3].map((epoch) => specsOf(run, epoch)))).flat());
    for (const { seed, simulator } of await varied(4))
      expect(simulator === 'initial' ? base : written, seed).toContain(seed);
    // By hand: 0.8^d = 1/2 at d = 3.1.
    const difficulty = async (epoch: number) =>
      mean((await tasksOf(run, epoch)).map((task) => task.difficulty))!;
    expect(await difficulty(1)).toBeGreaterThan(7);
    expect(mean(await Promise.all([5, 6].map(difficulty)))).toBeLessThan(5);
    expect(run.trainer.jobs.some(({ job: { kind } }) => kind === 'rwr')).toBe(false);
  });
});

describe('ledgers', () => {
  const source = { type: 'code' };
  it.each([
    ['uniform', arm('uniform')],
    ['oracle', arm('oracle')],
    ['window at a target', arm('window', { raiseAt: 0.5, lowerAt: 0.3, minAttempts: 16 })],
    ['offline by code', arm('offline', { source })],
    ['selection by text', arm('selection', { predictor: 'text' })],
    ['evolved', arm('evolved', { parents: 4 })],
  ])('of the arm %s are equal, byte for byte, in another folder', async (_, fields) => {
    const ledgerOf = async (): Promise<string> => {
      const run = await someRun(fields);
      await run.epochs(3);
      return JSON.stringify(await lines(run));
    };
    expect(await ledgerOf()).toBe(await ledgerOf());
  });
});

describe('controls', () => {
  it('a frozen agent: the simulator alone is trained', async () => {
    const run = await someRun({ 'agent.training': null });
    const { state } = await run.epochs(2);
    expect(state.agent).toEqual(run.prepared.state.agent);
    expect(run.trainer.jobs.map(({ job: { kind } }) => kind)).toEqual([
      'supervised',
      'supervised',
      'rwr',
      'rwr',
    ]);
  });

  it('a frozen simulator: as the arm `random`, under either name', async () => {
    const traces = async (fields: Record<string, unknown>) => {
      const run = await someRun(fields);
      await run.epochs(2);
      return Promise.all(
        (await lines(run)).at(-1)!.outputs.traces.map((file) => run.records<TraceRecord>(file)),
      );
    };
    expect(await traces({ 'environment.training': null })).toEqual(await traces(arm('random')));
  });
});
