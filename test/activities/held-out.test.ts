import { expect, test } from 'vitest';
import type { RandomStream } from '../../src/numerics/random.ts';
import type {
  EnvironmentPoolRecord,
  SeedTaskRecord,
  TaskRecord,
  TraceRecord,
} from '../../src/types/records.ts';
import type { ToolboxPlayer } from '../../test-support/fake-toolbox-model.ts';
import { linesOf } from '../guards/learners.ts';
import { someRun } from './some-run.ts';

const fields = { 'world.heldOutPerCell': 4, 'guards.gateAgent': { tasks: 8 } };

/** The base, held-out and anchor tasks of a run that was prepared. */
async function tasksOf(changes: Record<string, unknown>) {
  const run = await someRun({ ...fields, ...changes });
  const { base_tasks, held_out, anchor } = run.prepared.state;
  const specs = async (ref: typeof held_out) =>
    (await run.records<SeedTaskRecord>(ref)).map(({ spec }) => spec);
  return {
    base: await specs(base_tasks),
    heldOut: await specs(held_out),
    anchor: await specs(anchor!.tasks),
  };
}

test('held-out tasks are the same for every seed, unless they are drawn by a seed of their own', async () => {
  const first = await tasksOf({ seed: 1 });
  const second = await tasksOf({ seed: 2 });
  expect(second.base).not.toEqual(first.base);
  // Base tasks are never held out: of the grid these alone may lack.
  const common = first.heldOut.filter((spec) => second.heldOut.includes(spec));
  expect(common.length).toBeGreaterThan(first.heldOut.length / 2);

  const drawn = await tasksOf({ seed: 1, 'evaluation.heldOutSeed': 2 });
  expect(drawn.base).toEqual(first.base);
  expect(drawn.heldOut).not.toEqual(first.heldOut);
  expect(drawn.anchor).not.toEqual(first.anchor);
  expect(drawn.heldOut.map((spec) => spec.length)).toEqual(first.heldOut.map((spec) => spec.length));
  expect(await tasksOf({ seed: 1, 'evaluation.heldOutSeed': 2 })).toEqual(drawn);
  // The stream of seed 0 is that of files without the setting.
  expect((await tasksOf({ seed: 1, 'evaluation.heldOutSeed': 0 })).heldOut).toEqual(first.heldOut);
});

/** A simulator that writes one-symbol tasks: half or so of the grid's first cells are held out. */
const shortTasks = { taskLength: () => 1, success: () => 0.5 };
const excluding = { ...fields, 'evaluation.excludeHeldOut': true };
const armFields = (type: string) => ({ arm: { type }, 'environment.training': null });

async function epochOf(changes: Record<string, unknown>, player: ToolboxPlayer = shortTasks) {
  const run = await someRun(changes, player);
  const { metrics } = await run.epochs(1);
  const line = (await linesOf(run)).at(-1)!;
  const heldOut = new Set(
    (await run.records<SeedTaskRecord>(run.prepared.state.held_out)).map(({ spec }) => spec),
  );
  return {
    run,
    metrics,
    heldOut,
    tasks: await run.records<TaskRecord>(line.outputs.tasks),
    traces: (await Promise.all(line.outputs.traces.map((file) => run.records<TraceRecord>(file)))).flat(),
  };
}

test('the share of the simulator’s tasks that are held out is counted, and they are rolled out by default', async () => {
  const { metrics, tasks, heldOut } = await epochOf(fields);
  const overlap = tasks.filter(({ spec }) => heldOut.has(spec!)).length;
  expect(overlap).toBeGreaterThan(0);
  expect(overlap).toBeLessThan(tasks.length);
  expect(metrics['env/held_out_overlap']).toBe(overlap / tasks.length);
  expect(metrics['rollouts/count']).toBe(4 * tasks.length);
  const apart = await epochOf({ ...fields, 'world.heldOutLengths': [6, 6] });
  expect(apart.metrics['env/held_out_overlap']).toBe(0);
});

test('a held-out task is neither rolled out nor trained on, and what is left is counted', async () => {
  const counted = await epochOf(fields);
  const { run, metrics, tasks, traces, heldOut } = await epochOf(excluding);
  const excluded = tasks.filter(({ invalid_reason }) => invalid_reason === 'held_out');
  expect(metrics['env/held_out_overlap']).toBe(counted.metrics['env/held_out_overlap']);
  expect(metrics['env/invalid/held_out']).toBe(excluded.length);
  expect(excluded.length / tasks.length).toBe(metrics['env/held_out_overlap']);
  // What the simulator wrote is kept, for people.
  for (const { valid, spec, prompt, sampled } of excluded)
    expect({ valid, spec, prompt, held: heldOut.has(sampled!.text) }).toEqual({
      valid: false,
      spec: null,
      prompt: '',
      held: true,
    });
  const remaining = tasks.filter(({ valid }) => valid);
  expect(remaining.length).toBe(tasks.length - excluded.length);
  expect(remaining.some(({ spec }) => heldOut.has(spec!))).toBe(false);
  expect(new Set(traces.map(({ task_id }) => task_id))).toEqual(new Set(remaining.map(({ id }) => id)));
  expect(metrics['rollouts/count']).toBe(4 * remaining.length);
  // D_env and D_train are what the updates learn from.
  const { environment_pool, train_pool } = (await linesOf(run)).at(-1)!.outputs.state;
  const learnt = [
    ...(await run.records<EnvironmentPoolRecord>(environment_pool)).map(({ signature }) => signature),
    ...(await run.records<SeedTaskRecord>(train_pool)).map(({ spec }) => spec),
  ];
  expect(learnt.length).toBeGreaterThan(0);
  expect(learnt.filter((spec) => heldOut.has(spec))).toEqual([]);
});

test('a cell of which all tasks are held out is empty for every arm, and ends no epoch', async () => {
  const fullCell = {
    ...excluding,
    'world.symbols': 2,
    'world.heldOutPerCell': 64,
    'world.heldOutLengths': [1, 1],
  };
  const { metrics, tasks } = await epochOf(fullCell);
  expect(tasks.every(({ invalid_reason }) => invalid_reason === 'held_out')).toBe(true);
  expect(metrics).toMatchObject({ 'rollouts/count': 0, 'env/held_out_overlap': 1, 'env/valid_fraction': 0 });
});

test('a data set of the initial simulator lacks them, and candidates that are held out are not selected', async () => {
  const poolOf = async (changes: Record<string, unknown>) => {
    const run = await someRun({ ...changes, ...armFields('static') }, shortTasks);
    const pool = await run.records<SeedTaskRecord>(run.prepared.state.task_pool!);
    const heldOut = await run.records<SeedTaskRecord>(run.prepared.state.held_out);
    return { run, overlap: pool.filter(({ spec }) => heldOut.some((task) => task.spec === spec)).length };
  };
  expect((await poolOf(fields)).overlap).toBeGreaterThan(0);
  const { run, overlap } = await poolOf(excluding);
  expect(overlap).toBe(0);
  expect(run.prepared.metrics['pool/dropped/held_out']).toBeGreaterThan(0);

  const mixed = { success: () => 0.5, taskLength: (random: RandomStream) => 1 + random.int(4) };
  const selected = await epochOf({ ...excluding, ...armFields('selection') }, mixed);
  // Of four times as many candidates enough are left.
  expect(selected.tasks.every(({ valid }) => valid)).toBe(true);
  expect(selected.tasks.some(({ spec }) => selected.heldOut.has(spec!))).toBe(false);
});
