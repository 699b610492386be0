import { deriveSeed, randomStream } from '../coevolution/seeds.ts';
import { drawMix } from '../coevolution/training-pool.ts';
import type { Experiment } from '../contracts/experiment.ts';
import type { DrawTasksInput } from '../contracts/phases.ts';
import type { FileRef } from '../contracts/refs.ts';
import type { SeedTaskRecord, TaskRecord } from '../contracts/records.ts';
import { collect } from '../store/collect.ts';
import { described } from './generate-tasks.ts';
import { phase, taskId } from './phase.ts';
import type { Ports } from './ports.ts';

/**
 * The epoch's tasks: what the simulator wrote, repeats counted, and the share of base and earlier tasks that the mix of
 * D_train asks for, drawn to be rolled out afresh (GenEnv 2.3: "retain mastery of earlier curricula").
 */
export function createDrawTasks(ports: Ports) {
  return (input: DrawTasksInput): Promise<FileRef> =>
    phase(ports, 'draw', input, async ({ experiment, world }) => {
      const { epoch, state } = input;
      const written = (await Promise.all(input.generated.map((file) => collect(ports.store.records<TaskRecord>(file))))).flat();
      const fresh = countRepeats(written.toSorted(byIndex));
      const pools = { base: await collect(ports.store.records<SeedTaskRecord>(state.base_tasks)), history: await collect(ports.store.records<SeedTaskRecord>(state.train_pool)) };
      const replayed = replayCount(experiment) === 0 ? [] : drawMix({ ...pools, fresh: [] }, { ...experiment.pools.train.mix, fresh: 0 }, replayCount(experiment), randomStream(deriveSeed(experiment.seed, epoch, 'mix')));
      const old = replayed.map(({ source, item }, index): TaskRecord => ({
        id: taskId(epoch, fresh.length + index),
        source: source === 'base' ? 'base' : 'history',
        batch_id: item.id,
        context: '',
        history_success: null,
        simulator: 'none',
        valid: true,
        invalid_reason: '',
        repeats: 0,
        ...described(world, item.spec),
        sampled: null,
      }));
      return ports.store.putRecords([...fresh, ...old]);
    });
}

/** Base and earlier tasks an epoch draws, from the shares of the mix. */
export function replayCount({ environment, pools }: Experiment): number {
  const { base, history, new: fresh } = pools.train.mix;
  return Math.round((environment.promptsPerEpoch * environment.variationsPerPrompt * (base + history)) / fresh);
}

/** Ids grow by a digit where the index does. */
const byIndex = (a: TaskRecord, b: TaskRecord): number => a.id.length - b.id.length || (a.id < b.id ? -1 : 1);

function countRepeats(tasks: readonly TaskRecord[]): TaskRecord[] {
  const seen = new Map<string, number>();
  return tasks.map((task) => {
    if (task.spec === null) return task;
    const repeats = seen.get(task.spec) ?? 0;
    seen.set(task.spec, repeats + 1);
    return { ...task, repeats };
  });
}
