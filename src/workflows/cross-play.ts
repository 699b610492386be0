import type { ArmRun, ComparisonPlan, CrossPlayRecord } from '../contracts/comparisons.ts';
import { comparisonActivities } from './file-activities.ts';
import { inParallel } from './in-parallel.ts';
import { phases } from './phases.ts';

/** The simulators of one run's epochs against its agents of the same epochs. */
export async function crossPlay(
  { id, concurrency }: ComparisonPlan,
  armRun: ArmRun,
): Promise<CrossPlayRecord> {
  const {
    run,
    settings,
    checkpoints,
    tasks: wanted,
    samples,
  } = await comparisonActivities.planCrossPlay({ id, run: armRun });
  const does = phases(settings);
  const tasks = await inParallel(checkpoints, concurrency, async ({ epoch, state }) => {
    await does.publishPolicy({ run, policy: state.environment });
    return { epoch, file: await does.crossTasks({ run, epoch, state, tasks: wanted }) };
  });
  const played = await inParallel(checkpoints, concurrency, async ({ epoch, state }) => {
    await does.publishPolicy({ run, policy: state.agent });
    return does.crossPlay({ run, epoch, state, samples, tasks });
  });
  return { arm: armRun.arm, seed: armRun.seed, cells: played.flatMap(({ cells }) => cells) };
}
