import type { ArmRun, ComparisonPlan, ProbeRecord } from '../contracts/comparisons.ts';
import { comparisonActivities } from './file-activities.ts';
import { phases } from './phases.ts';

/** One run's agents of some epochs on tasks that span p: how they rank, and how large a gradient each gives. */
export async function probe({ id }: Pick<ComparisonPlan, 'id'>, armRun: ArmRun): Promise<ProbeRecord[]> {
  const {
    run,
    settings,
    checkpoints,
    tasks: wanted,
    attempts,
  } = await comparisonActivities.planProbes({ id, run: armRun });
  const does = phases(settings);
  const probed: ProbeRecord[] = [];
  for (const { epoch, state } of checkpoints) {
    await does.publishPolicy({ run, policy: state.agent });
    const tasks = await does.probeTasks({ run, epoch, state, tasks: wanted });
    const { traces, outcomes } = await does.probeAttempts({ run, epoch, state, tasks, attempts });
    const gradients =
      state.agent.checkpoint === null
        ? null
        : await does.measureGradients({ run, epoch, state, traces, outcomes });
    probed.push({ arm: armRun.arm, seed: armRun.seed, epoch, outcomes, gradients });
  }
  return probed;
}
