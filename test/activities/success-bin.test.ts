import { describe, expect, it } from 'vitest';
import type { SeedTaskRecord, TaskRecord } from '../../src/types/records.ts';
import type { LedgerEntry } from '../../src/runs/ledger-entry.ts';
import { parseExperiment } from '../../src/config/parse-experiment.ts';
import { workflowSettings } from '../../src/runs/settings-in-effect.ts';
import { createWorld } from '../../src/worlds/registry.ts';
import type { World } from '../../src/worlds/world.ts';
import { withFields } from '../../test-support/experiments.ts';
import { begin, plainEpoch } from '../../test-support/plain-epochs.ts';
import { smallFile, someRun } from './some-run.ts';
import type { SomeRun } from './some-run.ts';

const bin = (target: number | null, rest: object = {}) => ({
  arm: {
    type: 'success-bin',
    target,
    candidates: 96,
    attempts: 8,
    tasks: 16,
    ...rest,
  },
  'evaluation.every': 5,
  'guards.gateAgent': null,
  'world.heldOutLengths': [1, 8],
});

/** Runs an epoch of another arm on the same store and server. */
async function otherArm(run: SomeRun, target: number | null) {
  const file = withFields(smallFile, bin(target));
  const { plan, prepared } = await begin(run.activities, `other-${target}`, file);
  return { prepared, first: await plainEpoch(run.activities, plan, prepared) };
}

const measuring = ({ server }: SomeRun): number => server.requests.filter(({ n }) => n === 4).length;

const poolOf = async (run: SomeRun, pool = run.prepared.state.task_pool): Promise<string[]> =>
  (await run.records<SeedTaskRecord>(pool ?? null)).map(({ spec }) => spec);

describe('the arm `success-bin`', () => {
  it('draws tasks of all levels by code, none of them held out, and keeps those nearest to its target', async () => {
    const run = await someRun(bin(0.5), { success: (difficulty) => 1 - difficulty / 9 });
    const { metrics } = run.prepared;
    const pool = await poolOf(run);
    expect(metrics).toMatchObject({ 'pool/written': 96, 'pool/size': 16 });
    expect(new Set(pool).size).toBe(16);
    const heldOut = await run.records<SeedTaskRecord>(run.prepared.state.held_out);
    expect(heldOut.filter(({ spec }) => pool.includes(spec))).toEqual([]);
    expect(metrics['pool/screening_success_rate']).toBeCloseTo(0.5, 1);
    expect(metrics['pool/success_rate']).toBeGreaterThan(0.35);
    expect(metrics['pool/success_rate']).toBeLessThan(0.65);
  });

  it('attempts every candidate twice as often as it says: by one half it chooses, the other says p̂', async () => {
    // Which tasks the agent solves more often than others is luck alone.
    const run = await someRun(bin(0.9), { success: () => 0.5 });
    const { metrics } = run.prepared;
    expect(metrics['pool/screening_success_rate']).toBeGreaterThan(0.7);
    expect(metrics['pool/success_rate']).toBeGreaterThan(0.35);
    expect(metrics['pool/success_rate']).toBeLessThan(0.65);
    // Groups of four attempts at four tasks.
    expect(measuring(run) * 4 * 4).toBe(96 * 2 * 8);
  });

  it('measures once for all arms of a store, and all have the same tasks, attempts and rollouts', async () => {
    const run = await someRun(bin(0.5), { success: (difficulty) => 1 - difficulty / 9 });
    const first = await run.epochs(1);
    const afterFirst = measuring(run);
    const [low, even] = [await otherArm(run, 0.05), await otherArm(run, null)];
    // Groups of four attempts: an epoch's rollouts alone.
    expect(measuring(run) - afterFirst).toBe(2 * 4);
    for (const { first: epoch, prepared } of [low, even]) {
      expect(epoch.metrics['rollouts/count']).toBe(first.metrics['rollouts/count']);
      expect(prepared.metrics['pool/size']).toBe(16);
      expect(prepared.state.tokens).toBe(run.prepared.state.tokens);
    }
    expect(low.prepared.metrics['pool/success_rate']).toBeLessThan(0.3);
    const rates = [low.prepared, run.prepared, even.prepared].map(
      ({ metrics }) => metrics['pool/success_rate']!,
    );
    expect(Math.abs(rates[2]! - 0.5)).toBeLessThan(0.15);
    expect(new Set(rates).size).toBe(3);
  });

  it('draws its tasks one after another, and trains the agent alone', async () => {
    const run = await someRun(bin(0.5, { tasks: 32 }), { success: (difficulty) => 1 - difficulty / 9 });
    await run.epochs(2);
    const ledger = await (await run.dependencies
      .runFolder(run.plan.run.id)
      .open<LedgerEntry>())!.ledger.read();
    const drawn = await Promise.all(
      ledger.slice(1).map(({ outputs }) => run.records<TaskRecord>(outputs.tasks)),
    );
    const pool = await poolOf(run);
    expect(new Set(drawn.flat().map(({ spec }) => spec))).toEqual(new Set(pool));
    expect(drawn.flat()).toHaveLength(32);
    expect(run.server.requests.filter(({ model }) => model.startsWith('environment'))).toEqual([]);
    expect(run.trainer.jobs.map(({ job: { kind } }) => kind)).toEqual([
      'supervised',
      'supervised',
      'grpo',
      'grpo',
    ]);
  });

  it('measures nothing a second time', async () => {
    const run = await someRun(bin(0.5));
    const requests = run.server.requests.length;
    const { task_pool, ...prepared } = run.prepared.state;
    const state = { ...prepared, tokens: 0 };
    const same = await run.again().writePool({ run: run.plan.run, epoch: 0, state });
    expect(same.pool).toEqual(task_pool);
    expect(run.server.requests.length).toBe(requests);
  });

  it('refuses a bin that code cannot fill, and a world whose code draws no task', async () => {
    await expect(someRun({ ...bin(0.5, { tasks: 96 }), 'world.heldOutLengths': [1, 1] })).rejects.toThrow(
      /^experiment: arm\.tasks: got 96; code drew \d+ different tasks that are not held out$/,
    );
    const { world } = parseExperiment(withFields(smallFile, bin(0.5)));
    const bare: World = { ...createWorld(world) };
    delete bare.uniformTask;
    expect(() => workflowSettings(parseExperiment(withFields(smallFile, bin(0.5))), bare)).toThrow(
      'experiment: arm.type: got "success-bin"; the world "toolbox" cannot draw tasks by code',
    );
  });
});
