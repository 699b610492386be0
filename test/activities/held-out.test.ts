import { expect, test } from 'vitest';
import type { SeedTaskRecord } from '../../src/types/records.ts';
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
