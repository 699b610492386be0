import { collect, mapStream } from '../../async/streams.ts';
import { drawMix } from '../../coevolution/training-pool.ts';
import type { Drawn } from '../../coevolution/training-pool.ts';
import { replayCount } from '../../config/experiment.ts';
import type { Experiment } from '../../config/experiment.ts';
import { epochTasks, taskWithoutSimulator } from '../../curriculum/epoch-tasks.ts';
import { heldOutExclusion } from '../../curriculum/held-out-tasks.ts';
import { deriveSeed, randomStream } from '../../numerics/random.ts';
import { runPhaseOnce } from '../../runtime/run-once.ts';
import type { FileRef } from '../../store/references.ts';
import type { DrawTasksInput } from '../../types/activity-inputs.ts';
import { roundSeeds, taskId } from '../../types/ids.ts';
import type { SeedTaskRecord, TaskRecord } from '../../types/records.ts';
import type { Dependencies } from '../dependencies.ts';

/**
 * Draws the epoch's tasks: those of the arm (in most arms what the simulator wrote) with their repeats
 * counted, and the share of base and earlier tasks in the mix of D_train, which are rolled out again (GenEnv
 * 2.3: "retain mastery of earlier curricula"). In a later round of dynamic sampling, those of the rounds before
 * come first. Held-out tasks may be excluded, in every arm alike.
 */
export function createDrawTasks(dependencies: Dependencies) {
  return (input: DrawTasksInput): Promise<FileRef> =>
    runPhaseOnce(dependencies, 'draw', input, async (context) => {
      const { experiment } = context;
      const { epoch } = input;
      const { store } = dependencies;
      const exclude = await heldOutExclusion(store, experiment, context.world, input.state);
      const replayed = await drawReplayedTasks(dependencies, experiment, input);
      return store.putRecords(
        (async function* (): AsyncGenerator<TaskRecord> {
          const seen = new Map<string, number>();
          let index = 0;
          if (input.round !== undefined)
            for await (const task of store.records<TaskRecord>(input.round.drawn)) {
              if (task.source === 'new' && task.spec !== null) seen.set(task.spec, task.repeats + 1);
              index += 1;
              yield task;
            }
          const tasks = mapStream(epochTasks(dependencies, context, input), exclude);
          for await (const task of countRepeats(tasks, seen)) {
            yield { ...task, id: taskId(epoch, index) };
            index += 1;
          }
          for (const { source, item } of replayed) {
            const task = taskWithoutSimulator(context, taskId(epoch, index), {
              source: source === 'base' ? 'base' : 'history',
              batch: item.id,
              spec: item.spec,
            });
            yield exclude(task);
            index += 1;
          }
        })(),
      );
    });
}

async function drawReplayedTasks(
  { store }: Dependencies,
  experiment: Experiment,
  { epoch, state, round }: DrawTasksInput,
): Promise<Drawn<SeedTaskRecord>[]> {
  const count = replayCount(experiment);
  if (count === 0) return [];
  const pools = {
    base: await collect(store.records<SeedTaskRecord>(state.base_tasks)),
    history: await collect(store.records<SeedTaskRecord>(state.train_pool)),
  };
  return drawMix(
    { ...pools, new: [] },
    { ...experiment.pools.train.mix, new: 0 },
    count,
    randomStream(deriveSeed(experiment.seed, epoch, 'mix', ...roundSeeds(round))),
  );
}

/** Counts for each task how often its text came before it, in this round and in those that have been seen. */
async function* countRepeats(
  tasks: AsyncIterable<TaskRecord>,
  seen: Map<string, number>,
): AsyncGenerator<TaskRecord> {
  for await (const task of tasks) {
    if (task.spec === null) {
      yield task;
      continue;
    }
    const repeats = seen.get(task.spec) ?? 0;
    seen.set(task.spec, repeats + 1);
    yield { ...task, repeats };
  }
}
