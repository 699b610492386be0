/** Held-out tasks among those that are to be trained on: found by their canonical text, and taken out. */
import type { Experiment } from '../config/experiment.ts';
import type { ObjectStore } from '../store/object-store.ts';
import type { SeedTaskRecord, TaskRecord } from '../types/records.ts';
import type { RunState } from '../types/run-state.ts';
import type { World } from '../worlds/world.ts';
import { taskFeatures } from './task-features.ts';

/** Why a task that is otherwise valid is neither rolled out nor trained on. */
export const HELD_OUT = 'held_out';

/** The texts of the held-out tasks. */
export async function readHeldOut(
  store: ObjectStore,
  { held_out }: Pick<RunState, 'held_out'>,
): Promise<ReadonlySet<string>> {
  const specs = new Set<string>();
  for await (const { spec } of store.records<SeedTaskRecord>(held_out)) specs.add(spec);
  return specs;
}

/**
 * Makes a task invalid if it is held out and `evaluation.excludeHeldOut` is set. Nothing is drawn in its place:
 * all tasks of a small cell may be held out. What the simulator wrote stays in the record.
 */
export async function heldOutExclusion(
  store: ObjectStore,
  { evaluation }: Pick<Experiment, 'evaluation'>,
  world: World,
  state: Pick<RunState, 'held_out'>,
): Promise<(task: TaskRecord) => TaskRecord> {
  if (evaluation.excludeHeldOut !== true) return (task) => task;
  const heldOut = await readHeldOut(store, state);
  return (task) =>
    task.spec === null || !heldOut.has(task.spec)
      ? task
      : { ...task, valid: false, invalid_reason: HELD_OUT, ...taskFeatures(world, null) };
}
