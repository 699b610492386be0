import { describe, expect, it } from 'vitest';
import type { BatchRecord } from '../../test-support/fake-trainer.ts';
import type { SeedTaskRecord, TaskRecord } from '../../src/types/records.ts';
import type { LedgerEntry } from '../../src/runs/ledger-entry.ts';
import { someRun } from './some-run.ts';
import type { SomeRun } from './some-run.ts';

/** The preset `paper`, so small that an epoch has 32 groups: 16 written tasks, and as many drawn ones. */
const paper = {
  arm: { type: 'genenv', preset: 'paper' },
  'agent.training': { minInformativeGroups: 0 },
  filter: { type: 'off' },
};

const stepsOf = (records: readonly BatchRecord[], idOf: (record: BatchRecord) => string): string[][] =>
  [...Map.groupBy(records, ({ step }) => step)]
    .sort(([a], [b]) => a - b)
    .map(([, step]) => [...new Set(step.map(idOf))]);

const batchesOf = ({ trainer }: SomeRun, kind: string): BatchRecord[][] =>
  trainer.jobs.filter(({ job }) => job.kind === kind).map(({ records }) => records);

describe('a batch size', () => {
  it('cuts the agent’s groups, whole, into as many steps as it takes', async () => {
    const run = await someRun({ ...paper, 'agent.training': { minInformativeGroups: 0, batchSize: 5 } });
    await run.epochs(1);
    const [records = []] = batchesOf(run, 'grpo');
    const steps = stepsOf(records, ({ group_id }) => group_id);
    const groups = steps.flat();
    expect(groups.length).toBeGreaterThan(20);
    expect(new Set(groups).size).toBe(groups.length);
    expect(steps).toHaveLength(Math.ceil(groups.length / 5));
    for (const step of steps) expect([4, 5]).toContain(step.length);
  });

  it('of 64 is one step where an epoch has no more groups, as the presets’ own files have', async () => {
    const run = await someRun(paper);
    await run.epochs(1);
    const [records = []] = batchesOf(run, 'grpo');
    expect(stepsOf(records, ({ group_id }) => group_id)).toHaveLength(1);
  });

  /** Task ids by optimizer step of each epoch's update of the simulator. */
  async function simulatorPasses(fields: Record<string, unknown>): Promise<string[][][]> {
    const run = await someRun({ ...paper, 'environment.training': { recordsPerStep: 6 }, ...fields });
    await run.epochs(3);
    const passes = batchesOf(run, 'rwr').map((records) => stepsOf(records, ({ group_id }) => group_id));
    expect(passes).toHaveLength(3);
    for (const steps of passes) {
      const ids = steps.flat();
      expect(new Set(ids).size).toBe(ids.length);
      expect(steps).toHaveLength(Math.ceil(ids.length / 6));
    }
    return passes;
  }

  it('makes each epoch of the simulator one pass over the records of that epoch, as Algorithm 1', async () => {
    for (const [index, steps] of (await simulatorPasses({})).entries())
      for (const id of steps.flat()) expect(id).toMatch(new RegExp(`^epoch-000${index + 1}/`));
  });

  it('makes it one pass over D_env, which grows, without a window', async () => {
    const passes = await simulatorPasses({ 'pools.environment.window': null });
    for (const [epoch, steps] of passes.entries())
      // All that earlier epochs trained on is in D_env still.
      for (const earlier of passes.slice(0, epoch).flat(2)) expect(steps.flat()).toContain(earlier);
    expect(passes[2]!.flat().length).toBeGreaterThan(passes[0]!.flat().length);
  });
});

describe('seed tasks in passes', () => {
  it('are varied once each before any comes again, and all in an epoch of as many prompts', async () => {
    const run = await someRun({ ...paper, 'world.baseTasks': 8, 'environment.promptsPerEpoch': 4 });
    const base = await run.records<SeedTaskRecord>(run.prepared.state.base_tasks);
    await run.epochs(4);
    const lines = await run.dependencies
      .runFolder(run.plan.run.id)
      .ledger<LedgerEntry>(run.plan.run.experiment.sha256)
      .read();
    const seeds: string[][] = [];
    for (const { outputs } of lines.slice(1)) {
      const tasks = await run.records<TaskRecord>(outputs.tasks);
      const prompts = Map.groupBy(
        tasks.filter(({ source }) => source === 'new'),
        ({ batch_id }) => batch_id,
      );
      seeds.push([...prompts.values()].map(([task]) => task!.context.split('|').at(-1)!));
    }
    const varied = (epochs: string[][]): number => new Set(epochs.flat()).size;
    const distinct = new Set(base.map(({ spec }) => spec)).size;
    expect(distinct).toBe(8);
    expect([varied(seeds.slice(0, 2)), varied(seeds.slice(2, 4))]).toEqual([8, 8]);
  });
});
