/**
 * The first half of an epoch, up to which tasks each update may use: tasks are written and drawn, rolled out,
 * rewarded and filtered. With dynamic sampling (DAPO, Yu et al. 2025, 3.2) that is done in rounds, until enough
 * groups have a signal for the agent.
 */
import type { FileRef } from '../store/references.ts';
import type { SamplingRound } from '../types/activity-inputs.ts';
import type { Filtered, Rewards, Sampling } from '../types/activity-types.ts';
import type { Metrics, WorkflowSettings } from '../types/run-state.ts';
import type { EpochStart, PipelineActivities, PhaseRunner } from './pipeline-activities.ts';
import { fileRefs, mapShards } from './shards.ts';

export type SamplingActivities = Pick<
  PipelineActivities<never>,
  'generateTasks' | 'drawTasks' | 'rollOut' | 'computeRewards' | 'filterByDifficulty'
>;

/** All tasks of an epoch with their rollouts, of all rounds together. */
export interface SampledEpoch {
  tasks: FileRef;
  traces: FileRef[];
  generated: Sampling[];
  rollouts: Sampling[];
  rewards: Rewards;
  filtered: Filtered;
  /** Of the rounds; empty without dynamic sampling. */
  metrics: Metrics;
}

/**
 * Each round adds as many tasks as an epoch has without dynamic sampling. Rewards and filter see the tasks of all
 * rounds so far, since a filter or a guard may compare a task with the others.
 */
export async function sampleEpoch(
  activities: SamplingActivities,
  { run, settings, epoch, state }: EpochStart,
  runner: PhaseRunner,
): Promise<SampledEpoch> {
  const { shards, dynamicSampling } = settings;
  const input = { run, epoch, state };
  const generated: Sampling[] = [];
  const rollouts: Sampling[] = [];
  let round: SamplingRound | undefined;
  for (;;) {
    const inRound = { ...input, ...(round && { round }) };
    runner.onRound?.(round?.number ?? 1);

    // The simulator writes tasks; the round's tasks are drawn from them and from the pool.
    const written = await runner.run('generate', () =>
      mapShards(shards.generate, (shard) => activities.generateTasks({ ...inRound, ...shard })),
    );
    const tasks = await runner.run('draw', () =>
      activities.drawTasks({ ...inRound, generated: fileRefs(written) }),
    );

    // The agent attempts the tasks.
    const attempted = await runner.run('roll out', () =>
      mapShards(shards.rollOut, async (shard) => {
        const sampling = await activities.rollOut({ ...inRound, ...shard, tasks });
        runner.onRollouts?.(sampling.file.count);
        return sampling;
      }),
    );
    generated.push(...written);
    rollouts.push(...attempted);
    const traces = fileRefs(rollouts);

    // Rewards of both policies, and which tasks each of them may learn from.
    const rewards = await runner.run('reward', () => activities.computeRewards({ ...input, tasks, traces }));
    const filtered = await runner.run('filter', () =>
      activities.filterByDifficulty({ ...input, scores: rewards.scores }),
    );

    const rounds = round?.number ?? 1;
    if (isLastRound(dynamicSampling, rounds, filtered))
      return {
        tasks,
        traces,
        generated,
        rollouts,
        rewards,
        filtered,
        metrics: roundMetrics(dynamicSampling, rounds, filtered),
      };
    round = { number: rounds + 1, drawn: tasks };
  }
}

type DynamicSampling = WorkflowSettings['dynamicSampling'];

const hasEnoughGroups = (
  { informativeGroups }: NonNullable<DynamicSampling>,
  { informative = 0 }: Filtered,
): boolean => informative >= informativeGroups;

const isLastRound = (dynamic: DynamicSampling, rounds: number, filtered: Filtered): boolean =>
  dynamic === undefined || rounds >= dynamic.maxRounds || hasEnoughGroups(dynamic, filtered);

function roundMetrics(dynamic: DynamicSampling, rounds: number, filtered: Filtered): Metrics {
  if (dynamic === undefined) return {};
  return {
    'rollouts/rounds': rounds,
    'rollouts/informative_groups': filtered.informative ?? 0,
    'rollouts/rounds_capped': hasEnoughGroups(dynamic, filtered) ? 0 : 1,
  };
}
