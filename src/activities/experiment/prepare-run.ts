import { emptyHistory } from '../../coevolution/agent-history.ts';
import { rejectContaminated } from '../../curriculum/generate-candidates.ts';
import { deriveSeed, randomStream } from '../../numerics/random.ts';
import { runPhaseOnce } from '../../runtime/run-once.ts';
import type { PrepareInput, RunState } from '../../types/activity-types.ts';
import type { HistoryRecord, SeedTaskRecord } from '../../types/records.ts';
import type { Dependencies } from '../dependencies.ts';

/**
 * The state that the first epoch starts from: base tasks, held-out tasks, empty pools, warm policies.
 * @throws InvalidConfig for a base task that holds a question of a benchmark
 */
export function createPrepareRun(dependencies: Dependencies) {
  return (input: PrepareInput): Promise<RunState> =>
    runPhaseOnce(dependencies, 'prepare', { ...input, epoch: 0 }, async ({ experiment: { seed }, world }) => {
      const records = (name: string, specs: readonly string[]): SeedTaskRecord[] =>
        specs.map((spec, index) => ({ id: `${name}-${String(index).padStart(3, '0')}`, spec }));
      const base = records('base', world.baseTasks(randomStream(deriveSeed(seed, 'base-tasks'))));
      for (const [index, { spec }] of base.entries())
        rejectContaminated(world, spec, `world: base task ${index + 1} of ${world.name}`);
      // The same held-out tasks for every seed, so that seeds can be compared; those that are base tasks too
      // are left out.
      const seen = new Set(base.map(({ spec }) => spec));
      const heldOut = records(
        'held-out',
        world.heldOutTasks(randomStream(deriveSeed(0, 'held-out-tasks'))).filter((spec) => !seen.has(spec)),
      );
      const history: HistoryRecord = { agent: emptyHistory(), progress: {} };
      const nothing = await dependencies.store.putRecords([]);
      return {
        base_tasks: await dependencies.store.putRecords(base),
        held_out: await dependencies.store.putRecords(heldOut),
        agent: input.agent,
        environment: input.environment,
        initial_agent: input.agent,
        initial_environment: input.environment,
        history: await dependencies.store.putJson(history),
        train_pool: nothing,
        environment_pool: nothing,
        tokens: 0,
      };
    });
}
