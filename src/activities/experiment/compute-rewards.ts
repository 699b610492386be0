import { groupConsecutive } from '../../async/streams.ts';
import { difficultyReward, wordingFidelity } from '../../coevolution/difficulty-reward.ts';
import { groupAdvantages } from '../../coevolution/group-advantage.ts';
import { successRate } from '../../coevolution/success-rate.ts';
import type { SuccessRate } from '../../coevolution/success-rate.ts';
import type { Experiment } from '../../config/experiment.ts';
import { deriveSeed, randomStream } from '../../numerics/random.ts';
import { runPhaseOnce } from '../../runtime/run-once.ts';
import { EpochMetrics } from '../../scoring/epoch-metrics.ts';
import { clusterGuards, luckGuard, TaskOutcomeCounts } from '../../scoring/task-outcomes.ts';
import type { ComputeRewardsInput, Rewards } from '../../types/activity-types.ts';
import { taskIndex } from '../../types/ids.ts';
import type {
  RewardRecord,
  ScoreRecord,
  SeedTaskRecord,
  TaskRecord,
  TraceRecord,
} from '../../types/records.ts';
import { isSolved } from '../../worlds/world.ts';
import type { World } from '../../worlds/world.ts';
import type { Dependencies } from '../dependencies.ts';

/**
 * Scores every answer by code, twice, and every task by its answers (GenEnv eqs. 1 to 3). Tasks and traces
 * stream through; what stays in memory is a task's text and a few numbers of it.
 */
export function createComputeRewards(dependencies: Dependencies) {
  return (input: ComputeRewardsInput): Promise<Rewards> =>
    runPhaseOnce(dependencies, 'reward', input, async ({ experiment, world }) => {
      const { store } = dependencies;
      const specs: (string | null)[] = [];
      for await (const { spec } of store.records<TaskRecord>(input.tasks)) specs.push(spec);
      const outcomes = new TaskOutcomeCounts(specs.length, world.solvedFrom);
      const summary = new EpochMetrics(experiment, world);
      const { heartbeat } = dependencies.activityContext();
      let answers = 0;
      const rewards = await store.putRecords(
        (async function* () {
          // A group is always whole: it is one prompt of one request.
          for await (const group of groupConsecutive(
            traces(dependencies, input),
            (one, next) => one.task_id === next.task_id && one.role === next.role,
          )) {
            const { task_id, role } = group[0]!;
            const task = taskIndex(task_id);
            const scored = scoreGroup(experiment, input.epoch, world, specs[task]!, group);
            outcomes.add(task, role, scored);
            outcomes.addWordings(task, group);
            summary.addGroup(task, group, scored);
            heartbeat({ answers: (answers += group.length) });
            yield* scored;
          }
        })(),
      );
      const scores = await store.putRecords(
        (async function* (): AsyncGenerator<ScoreRecord> {
          const perBatch = experiment.difficulty.per === 'batch';
          // The variations of one seed prompt lie side by side.
          const batches = groupConsecutive(
            store.records<TaskRecord>(input.tasks),
            (one, next) =>
              perBatch && one.source === 'new' && next.source === 'new' && one.batch_id === next.batch_id,
          );
          const near = clusterGuards(experiment.guards, specs);
          let index = 0;
          for await (const batch of batches) {
            const rate =
              perBatch && batch[0]!.source === 'new' ? outcomes.together(index, batch.length) : undefined;
            for (const task of batch) {
              const score = scoreTask(experiment, input.epoch, world, task, outcomes, index, rate, near);
              summary.addTask(index, task, score);
              index += 1;
              yield score;
            }
          }
        })(),
      );
      const archive: string[] = [];
      for await (const { spec } of store.records<SeedTaskRecord>(input.state.train_pool)) archive.push(spec);
      const inconsistent = outcomes.inconsistentShare();
      return {
        rewards,
        scores,
        metrics: {
          ...summary.metrics(archive),
          ...(inconsistent !== undefined && { 'env/inconsistent': inconsistent }),
        },
      };
    });
}

async function* traces(dependencies: Dependencies, input: ComputeRewardsInput): AsyncGenerator<TraceRecord> {
  for (const file of input.traces) yield* dependencies.store.records<TraceRecord>(file);
}

function scoreGroup(
  { seed, agent }: Experiment,
  epoch: number,
  world: World,
  spec: string,
  group: readonly TraceRecord[],
): RewardRecord[] {
  const verdict = ({ id, sampled }: TraceRecord, which: 'first' | 'second') =>
    world.score(spec, sampled.text, randomStream(deriveSeed(seed, epoch, 'verdict', id, which)));
  const verdicts = group.map((trace) => ({
    first: verdict(trace, 'first'),
    second: verdict(trace, 'second'),
  }));
  // Form is paid for here alone: whatever is counted as success reads the verdict.
  const formatReward = agent.training?.formatReward ?? 0;
  const { advantages } = groupAdvantages(
    verdicts.map(({ first }) => first.reward + (first.wellFormed ? formatReward : 0)),
    { scaleByStd: agent.training?.scaleByStd ?? false },
  );
  return group.map(({ id, task_id, role, sampled }, index) => ({
    id,
    task_id,
    role,
    reward: verdicts[index]!.first.reward,
    second_reward: verdicts[index]!.second.reward,
    well_formed: verdicts[index]!.first.wellFormed,
    advantage: role === 'agent' ? advantages[index]! : 0,
    answer: sampled.text,
    ...(world.failure &&
      role === 'agent' &&
      !isSolved(world, verdicts[index]!.first.reward) && {
        failure: sampled.finish_reason === 'length' ? 'cut off' : world.failure(spec, sampled.text),
      }),
  }));
}

function scoreTask(
  { seed, difficulty, guards }: Experiment,
  epoch: number,
  world: World,
  task: TaskRecord,
  outcomes: TaskOutcomeCounts,
  index: number,
  batch: SuccessRate | undefined,
  near: readonly number[],
): ScoreRecord {
  const { successes, attempts, rate } = outcomes.of(index, 'agent');
  const target = batch === undefined ? rate : batch.rate;
  const random =
    task.spec === null
      ? null
      : randomRate(
          world,
          task.spec,
          guards.randomAttempts,
          deriveSeed(seed, epoch, 'random-policy', task.id),
        );
  return {
    task_id: task.id,
    source: task.source,
    kind: task.kind,
    difficulty: task.difficulty,
    valid: task.valid,
    attempts,
    successes,
    success_rate: rate,
    target_rate: task.valid ? target : null,
    frozen_rate: outcomes.of(index, 'frozen').rate,
    random_rate: random,
    informative: successes > 0 && successes < attempts,
    ...(outcomes.verdictsDiffer(index) ? { verdicts_differ: true as const } : {}),
    ...outcomes.failure(index),
    env_reward:
      task.valid && target !== null
        ? difficultyReward(target, difficulty) * wordingFidelity(outcomes.wordings(index))
        : null,
    guard: luckGuard(guards, rate, random) * near[index]!,
  };
}

function randomRate(world: World, spec: string, attempts: number, seed: number): number {
  const random = randomStream(seed);
  const chance = randomStream(deriveSeed(seed, 'verdict'));
  return successRate(
    Array.from(
      { length: attempts },
      () => world.score(spec, world.randomAnswer(spec, random), chance).reward,
    ),
    world.solvedFrom,
  ).rate!;
}
