import { emptyHistory } from '../../coevolution/agent-history.ts';
import { rejectContaminated } from '../../curriculum/generate-candidates.ts';
import { deriveSeed, randomStream } from '../../numerics/random.ts';
import { runPhaseOnce } from '../../runtime/run-once.ts';
import type { PrepareInput, RunState } from '../../types/activity-types.ts';
import type { HistoryRecord, SeedTaskRecord } from '../../types/records.ts';
import type { Dependencies } from '../dependencies.ts';

/**
 * Prepares the state that the first epoch starts from: base tasks, held-out tasks, empty pools, warm
 * policies.
 * @throws InvalidConfig for a base task that holds a question of a benchmark
 */
export function createPrepareRun(dependencies: Dependencies) {
  return (input: PrepareInput): Promise<RunState> =>
    runPhaseOnce(dependencies, 'prepare', { ...input, epoch: 0 }, async ({ experiment: { seed }, world }) => {
      const { store } = dependencies;
      const baseSpecs = world.baseTasks(randomStream(deriveSeed(seed, 'base-tasks')));
      for (const [index, spec] of baseSpecs.entries())
        rejectContaminated(world, spec, `world: base task ${index + 1} of ${world.name}`);
      // The same held-out tasks for every seed, so that seeds can be compared, but no base tasks.
      const baseSet = new Set(baseSpecs);
      const heldOutSpecs = world
        .heldOutTasks(randomStream(deriveSeed(0, 'held-out-tasks')))
        .filter((spec) => !baseSet.has(spec));
      const history: HistoryRecord = { agent: emptyHistory(), progress: {} };
      const emptyPool = await store.putRecords([]);
      return {
        base_tasks: await store.putRecords(seedTaskRecords('base', baseSpecs)),
        held_out: await store.putRecords(seedTaskRecords('held-out', heldOutSpecs)),
        agent: input.agent,
        environment: input.environment,
        initial_agent: input.agent,
        initial_environment: input.environment,
        history: await store.putJson(history),
        train_pool: emptyPool,
        environment_pool: emptyPool,
        tokens: 0,
      };
    });
}

const seedTaskRecords = (name: string, specs: readonly string[]): SeedTaskRecord[] =>
  specs.map((spec, index) => ({ id: `${name}-${String(index).padStart(3, '0')}`, spec }));
